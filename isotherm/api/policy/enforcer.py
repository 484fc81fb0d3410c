"""Who may do what: the rules of `rules`, as an operator's file changes them, asked by oslo.policy.

The file is looked at before each answer, and read anew when it has changed. One that cannot be used changes nothing: what
held before goes on to hold, and the log says so. At the start there is no before, so the service does not start. To have
the defaults again, the file has to say so (`{}`): that it is gone or empty may just be the middle of a write.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml
from oslo_config import cfg
from oslo_policy import policy as oslo

from isotherm import errors
from isotherm.api.http import faults
from isotherm.api.policy import rules
from isotherm.config import Settings
from isotherm.identity.caller import Caller

log = logging.getLogger(__name__)

_MAX_DECISIONS = 20_000
# Answers of another service are neither quick nor the same each time.
_ASKS_ANOTHER = re.compile(r"(^|[\s(])https?:")
Stamp = tuple[int, int, int] | None


class Policy(Protocol):
    """Raises a fault of status 403 if the caller may not do what the rule stands for."""

    def check(self, rule: str, caller: Caller, target: Mapping[str, str]) -> None: ...

    def check_type(self, type_: str, caller: Caller) -> None: ...

    def allows(self, rule: str, caller: Caller, target: Mapping[str, str]) -> bool: ...

    def allows_type(self, type_: str, caller: Caller) -> bool: ...


@dataclass(frozen=True, slots=True)
class _RuleSet:
    """Rules that hold together, and what they have been asked."""

    enforcer: oslo.Enforcer
    decisions: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def __contains__(self, rule: str) -> bool:
        return rule in self.enforcer.rules

    def allow(self, rule: str, caller: Caller, target: Mapping[str, str]) -> bool:
        key = (rule, caller.project, caller.user_id, caller.roles, caller.is_admin, caller.is_admin_project,
               *sorted(target.items()))
        found = self.decisions.get(key)
        if found is None:
            if len(self.decisions) >= _MAX_DECISIONS:
                self.decisions.clear()
            found = self.decisions[key] = bool(self.enforcer.enforce(rule, dict(target), _credentials(caller)))
        return found


class Enforcer:
    """The policy of a running service."""

    def __init__(self, file: Path | None = None, *, required: bool = False) -> None:
        self._file = file
        self._seen = _file_stamp(file)
        if required and self._seen is None:
            raise errors.UserError(f"{file}: there is no such policy file", hint="see [oslo_policy] policy_file")
        self._rules = _parse("" if file is None or self._seen is None else _read(file))

    @classmethod
    def of(cls, settings: Settings) -> Enforcer:
        """The policy that the options ask for. A relative path is one beside the file of options."""
        path = Path(settings.policy_file)
        if not path.is_absolute():
            if not settings.config_files:
                return cls()
            path = Path(settings.config_files[-1]).parent / path
        return cls(path, required=settings.policy_file != Settings().policy_file)

    def check(self, rule: str, caller: Caller, target: Mapping[str, str]) -> None:
        if not self.allows(rule, caller, target):
            raise faults.forbidden(f"You are not authorized to use {rule}.", "Forbidden")

    def allows(self, rule: str, caller: Caller, target: Mapping[str, str]) -> bool:
        """A rule that nobody has written allows nothing."""
        current = self._current()
        return rule in current and current.allow(rule, caller, _policy_target(caller, target))

    def check_type(self, type_: str, caller: Caller) -> None:
        """Refuse a type of resource: by its own rule, or by the rule for all of its kind."""
        for rule, told in ((f"resource_types:{type_}", f"resource_types:{type_}"), (_family_rule(type_), type_)):
            current = self._current()
            if rule in current and not current.allow(rule, caller, _policy_target(caller, {})):
                raise faults.forbidden(f"You are not authorized to use {told}.", "Forbidden")

    def allows_type(self, type_: str, caller: Caller) -> bool:
        try:
            self.check_type(type_, caller)
        except faults.Fault:
            return False
        return True

    def is_admin(self, caller: Caller) -> bool:
        """Whether the caller may use any project."""
        return self.allows("context_is_admin", caller, {})

    def _current(self) -> _RuleSet:
        now = _file_stamp(self._file)
        if now != self._seen and self._file is not None:
            self._seen = now
            self._reload(self._file)
        return self._rules

    def _reload(self, file: Path) -> None:
        try:
            text = _read(file)
            if not text.strip():
                raise errors.UserError(f"{file}: it is empty")
            self._rules = _parse(text)
        except errors.UserError as error:
            log.error("the policy file cannot be used, the rules from before hold: %s", error)
        else:
            log.info("new rules from the policy file")


def _policy_target(caller: Caller, target: Mapping[str, str]) -> dict[str, str]:
    """Whoever may use any project is asked as if it were their own; so Heat's rules, which all name the project, hold."""
    project = caller.project if caller.is_admin and caller.project else target.get("project_id", "")
    return {**target, "project_id": project, "tenant": project}


def _credentials(caller: Caller) -> dict[str, Any]:
    return {"roles": sorted(caller.roles), "project_id": caller.project, "tenant": caller.project,
            "user_id": caller.user_id, "user": caller.user_name, "is_admin": caller.is_admin,
            "is_admin_project": caller.is_admin_project}


def _family_rule(type_: str) -> str:
    return f"resource_types:{type_.rpartition('::')[0]}::*"


def _file_stamp(file: Path | None) -> Stamp:
    """What changes when a file does; None if there is none, or we cannot see it."""
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found else None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.UserError(f"{file}: {error}") from error


def _parse(text: str) -> _RuleSet:
    """The defaults with what the text says instead. Whatever is not surely meant so is an error."""
    try:
        given = yaml.safe_load(text) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise errors.UserError(f"the policy is not YAML: {error}") from error
    if not isinstance(given, dict) or not all(isinstance(part, str) for pair in given.items() for part in pair):
        raise errors.UserError("a policy is a mapping from names of rules to checks, all of them text")
    enforcer = oslo.Enforcer(cfg.ConfigOpts(), use_conf=False)
    told = {name: check for name, (check, _) in rules.TABLE.items()} | given
    enforcer.set_rules(oslo.Rules.from_dict(told), use_conf=False)
    _validate(enforcer, given)
    return _RuleSet(enforcer)


def _validate(enforcer: oslo.Enforcer, given: Mapping[str, str]) -> None:
    """oslo.policy takes a check that it does not understand for "nobody", and goes round in cycles for ever."""
    for name, check in given.items():
        # Each part that it does not understand is a "nobody" more than was written; below a "not" it would be everybody.
        if str(enforcer.rules[name]).count("!") > check.count("!"):
            raise errors.UserError(f"{name}: this check is not understood: {check}")
        if _ASKS_ANOTHER.search(check):
            raise errors.UserError(f"{name}: checks that ask another service are not supported")
    try:
        enforcer.check_rules(raise_on_violation=True)
    except oslo.InvalidDefinitionError as error:
        raise errors.UserError(str(error)) from error
