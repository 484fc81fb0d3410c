"""Enforces the policy: the rules of `rules`, overridden by the operator's policy file, evaluated by oslo.policy.

The file is checked before each decision and read again when it has changed. An invalid file is logged and the previous
rules stay in force; at start-up it stops the service. A missing or empty file may be half-written, so it counts as invalid
too: to go back to the defaults, the file must contain `{}`.
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
# http: checks ask another service: slow, and their result cannot be cached.
_ASKS_ANOTHER = re.compile(r"(^|[\s(])https?:")
Stamp = tuple[int, int, int] | None


class Policy(Protocol):
    """Port: `check` methods raise a fault of status 403, `allows` methods return whether the rule allows the caller."""

    def check(self, rule: str, caller: Caller, target: Mapping[str, str]) -> None: ...

    def check_type(self, type_: str, caller: Caller) -> None: ...

    def allows(self, rule: str, caller: Caller, target: Mapping[str, str]) -> bool: ...

    def allows_type(self, type_: str, caller: Caller) -> bool: ...


@dataclass(frozen=True, slots=True)
class _RuleSet:
    """One state of the rules, with the decisions made under it."""

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
            raise errors.UserError(f"{file}: the policy file does not exist", hint="see [oslo_policy] policy_file")
        self._rules = _parse("" if file is None or self._seen is None else _read(file))

    @classmethod
    def of(cls, settings: Settings) -> Enforcer:
        """Build the policy of the options. A relative policy_file is relative to the configuration file."""
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
        """Return whether the rule allows the caller. An unknown rule allows nothing."""
        current = self._current()
        return rule in current and current.allow(rule, caller, _policy_target(caller, target))

    def check_type(self, type_: str, caller: Caller) -> None:
        """Refuse a resource type by its own rule, or by the rule of its family (`OS::Keystone::*`)."""
        for rule, named in ((f"resource_types:{type_}", f"resource_types:{type_}"), (_family_rule(type_), type_)):
            current = self._current()
            if rule in current and not current.allow(rule, caller, _policy_target(caller, {})):
                raise faults.forbidden(f"You are not authorized to use {named}.", "Forbidden")

    def allows_type(self, type_: str, caller: Caller) -> bool:
        try:
            self.check_type(type_, caller)
        except faults.Fault:
            return False
        return True

    def is_admin(self, caller: Caller) -> bool:
        """Return whether the caller may use any project."""
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
                raise errors.UserError(f"{file}: the file is empty")
            self._rules = _parse(text)
        except errors.UserError as error:
            log.error("policy file is invalid; previous rules stay in force", extra={"error": str(error)})
        else:
            log.info("policy file reloaded")


def _policy_target(caller: Caller, target: Mapping[str, str]) -> dict[str, str]:
    """Return the target of a check. For an admin of all projects it is the admin's own project, which Heat's rules name."""
    project = caller.project if caller.is_admin and caller.project else target.get("project_id", "")
    return {**target, "project_id": project, "tenant": project}


def _credentials(caller: Caller) -> dict[str, Any]:
    return {"roles": sorted(caller.roles), "project_id": caller.project, "tenant": caller.project,
            "user_id": caller.user_id, "user": caller.user_name, "is_admin": caller.is_admin,
            "is_admin_project": caller.is_admin_project}


def _family_rule(type_: str) -> str:
    return f"resource_types:{type_.rpartition('::')[0]}::*"


def _file_stamp(file: Path | None) -> Stamp:
    """Return a value that changes with the file; None if the file is missing or unreadable."""
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
    """Parse the defaults overridden by the text. Raise UserError for anything ambiguous."""
    try:
        given = yaml.safe_load(text) or {}
    except (yaml.YAMLError, RecursionError) as error:
        raise errors.UserError(f"the policy is not YAML: {error}") from error
    if not isinstance(given, dict) or not all(isinstance(part, str) for pair in given.items() for part in pair):
        raise errors.UserError("a policy must map names of rules to checks, both of them text")
    enforcer = oslo.Enforcer(cfg.ConfigOpts(), use_conf=False)
    checks = {name: check for name, (check, _) in rules.TABLE.items()} | given
    enforcer.set_rules(oslo.Rules.from_dict(checks), use_conf=False)
    _validate(enforcer, given)
    return _RuleSet(enforcer)


def _validate(enforcer: oslo.Enforcer, given: Mapping[str, str]) -> None:
    """Refuse checks that oslo.policy silently turns into "!" (no caller), and cycles, on which it does not end."""
    for name, check in given.items():
        # Each unknown part becomes a "!" more than was written; below a "not" it would allow every caller.
        if str(enforcer.rules[name]).count("!") > check.count("!"):
            raise errors.UserError(f"{name}: invalid check: {check}")
        if _ASKS_ANOTHER.search(check):
            raise errors.UserError(f"{name}: checks that ask another service are not supported")
    try:
        enforcer.check_rules(raise_on_violation=True)
    except oslo.InvalidDefinitionError as error:
        raise errors.UserError(str(error)) from error
