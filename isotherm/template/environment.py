"""The environment: values of parameters, and the resource registry of a stack.

`load` reads it from text or data; `merge.merge` joins several. The registry maps type names to types or templates, for all
resources or for one, and holds hooks and restrictions; its nested levels address the resources of nested stacks, which
get them through `Environment.child`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from isotherm.errors import NotFound, UserError
from isotherm.template.text import document

SECTIONS = ("parameters", "parameter_defaults", "resource_registry", "event_sinks", "encrypted_param_names",
            "isotherm", "parameter_merge_strategies")
HOOKS = ("pre-create", "pre-update", "pre-delete", "post-create", "post-update", "post-delete")
RESTRICTED_ACTIONS = ("update", "replace")
TEMPLATE_SUFFIXES = (".yaml", ".template")

_MAX_ALIASES = 64


class TypeTargetKind(Enum):
    CLASS = "class"
    TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class TypeTarget:
    """The meaning of a type name: the name of a class, or the location of a template."""

    kind: TypeTargetKind
    name: str
    # Of a template: the path to the line of the registry that names it.
    line: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the registry, with the path to it, by which lines are ordered."""

    path: tuple[str, ...]
    target: str

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def template(self) -> str:
        """Return the template that the line names. A line for the location of a template cannot name another one."""
        return next((one for one in (self.name, self.target) if one.endswith(TEMPLATE_SUFFIXES)), "")

    def covers(self, type_name: str) -> bool:
        if not self.name.endswith("*"):
            return self.name == type_name
        # A glob that maps many types to one type does not map that type to itself.
        return not self.template and type_name.startswith(self.name[:-1]) and type_name != self.target

    def rename(self, type_name: str) -> str:
        if self.name.endswith("*") and self.target.endswith("*"):
            return self.target[:-1] + type_name[len(self.name) - 1:]
        return self.target


@dataclass(frozen=True, slots=True)
class Registry:
    """The resource_registry of an environment, checked."""

    data: Mapping[str, Any] = field(default_factory=dict)

    def lookup(self, type_name: str, resource_name: str | None = None, *, known: Mapping[str, Any]) -> TypeTarget:
        """Return the meaning of the type. `known` holds the types that exist as classes."""
        target = next(self._targets(type_name, resource_name, known, _MAX_ALIASES), None)
        if target is None:
            raise NotFound(f"The Resource Type ({type_name}) could not be found.", kind="EntityNotFound")
        return target

    def facade(self, type_name: str, resource_name: str | None = None, *, known: Mapping[str, Any]) -> TypeTarget | None:
        """Return the meaning of the type without the line in use: the template of that line has to have its schema."""
        first, *others = self._targets(type_name, resource_name, known, _MAX_ALIASES)
        return next((one for one in others if one != first), None)

    @property
    def is_empty(self) -> bool:
        return not any(key != "resources" or value for key, value in self.data.items())

    def hooks_for(self, resource_name: str) -> frozenset[str]:
        return self._options_for(resource_name, "hooks")

    def restricted_actions_for(self, resource_name: str) -> frozenset[str]:
        return self._options_for(resource_name, "restricted_actions")

    def child(self, resource_name: str, used: tuple[str, ...] = ()) -> Registry:
        """Return the registry of the child stack of this resource: all global lines, and those below its name.

        `used` is the line that led to the template of the child stack. It does not apply inside that template, so that a
        template can stand in for a type and use that type itself.
        """
        kept = _without(self.data, used)
        below = kept.get("resources", {})
        # The resource's own name comes last: it has precedence over patterns.
        matching = [one for pattern, one in below.items() if fnmatch.fnmatchcase(resource_name, pattern)]
        inner: dict[str, Any] = {}
        for one in (*matching, below.get(resource_name)):
            inner.update(one if isinstance(one, Mapping) else {})
        # Hooks and restrictions of the resource do not apply to the resources of its child stack.
        return Registry({**kept, "resources": {name: one for name, one in inner.items() if isinstance(one, Mapping)}})

    def _targets(
        self, type_name: str, resource_name: str | None, known: Mapping[str, Any], left: int
    ) -> Iterator[TypeTarget]:
        """Yield the meanings of the type by precedence; the first one applies."""
        if left == 0:
            raise UserError(f"The Resource Type ({type_name}) could not be found: its aliases form a loop.",
                            kind="EntityNotFound")
        # The longer path first (a line for one resource), then by name: that is Heat's order, globs included.
        for entry in sorted(self._matches(type_name, resource_name), key=lambda one: (-len(one.path), one.path)):
            if entry.template:
                yield TypeTarget(TypeTargetKind.TEMPLATE, entry.template, entry.path)
                continue
            found = next(self._targets(entry.rename(type_name), resource_name, known, left - 1), None)
            if found is not None:
                yield found
        if type_name in known:
            yield TypeTarget(TypeTargetKind.CLASS, type_name)

    def _matches(self, type_name: str, resource_name: str | None) -> Iterator[_Entry]:
        if resource_name is not None:
            own = self.data.get("resources", {}).get(resource_name)
            if isinstance(own, Mapping) and isinstance(own.get(type_name), str):
                yield _Entry(("resources", resource_name, type_name), own[type_name])
        if type_name.endswith(TEMPLATE_SUFFIXES) and type_name not in self.data:
            # The location of a template is a type name without being registered.
            yield _Entry((type_name,), type_name)
        for name, target in self.data.items():
            entry = _Entry((name,), target)
            if isinstance(target, str) and entry.covers(type_name):
                yield entry

    def _options_for(self, resource_name: str, key: str) -> frozenset[str]:
        words: set[str] = set()
        for pattern, below in self._resources():
            if key in below and fnmatch.fnmatchcase(resource_name, pattern):
                found = below[key]
                words.update([found] if isinstance(found, str) else found)
        return frozenset(words)

    def _resources(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for pattern, below in self.data.get("resources", {}).items():
            if isinstance(below, Mapping):
                yield pattern, below


@dataclass(frozen=True, slots=True)
class Environment:
    """A checked environment. Made by `load`, never by hand in production code."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Any] = field(default_factory=dict)
    registry: Registry = field(default_factory=Registry)
    event_sinks: tuple[Mapping[str, Any], ...] = ()
    encrypted_param_names: tuple[str, ...] = ()
    parameter_merge_strategies: Mapping[str, str] = field(default_factory=dict)
    # Resources of the stack that have another name than before: old name to new name. Nested stacks do not inherit it.
    moved: Mapping[str, str] = field(default_factory=dict)

    def hooks_for(self, resource_name: str) -> frozenset[str]:
        return self.registry.hooks_for(resource_name)

    def restricted_actions_for(self, resource_name: str) -> frozenset[str]:
        return self.registry.restricted_actions_for(resource_name)

    def child(
        self, resource_name: str, parameters: Mapping[str, Any] | None = None, used: tuple[str, ...] = ()
    ) -> Environment:
        """Return the environment of a child stack: its own parameters, and the inherited registry.

        `used` is the line of the registry that led to the template of the child stack.
        """
        return Environment(parameters or {}, self.parameter_defaults, self.registry.child(resource_name, used),
                           self.event_sinks)

    def as_dict(self) -> dict[str, Any]:
        registry = {"resources": {}, **self.registry.data}
        return {"parameters": dict(self.parameters), "parameter_defaults": dict(self.parameter_defaults),
                "resource_registry": registry, "event_sinks": list(self.event_sinks),
                "encrypted_param_names": list(self.encrypted_param_names),
                **({"isotherm": {"moved": dict(self.moved)}} if self.moved else {})}


def load(given: str | bytes | Mapping[str, Any] | None, *, source: str = "", strict: bool = True) -> Environment:
    """Read an environment from text or data. Unless `strict`, a flat map without any section holds parameters."""
    data = document.load(given, source=source).data if isinstance(given, str | bytes) and given.strip() else given or {}
    if not isinstance(data, Mapping):
        raise _invalid("The environment is not a valid YAML mapping data type.")
    if not strict and data and not any(section in data for section in SECTIONS[:-1]):
        data = {"parameters": data}
    if strict:
        _check_sections(data)
    return Environment(
        parameters=_map(data, "parameters"), parameter_defaults=_map(data, "parameter_defaults"),
        registry=Registry(_checked_registry(_map(data, "resource_registry"))),
        event_sinks=tuple(_list(data, "event_sinks")),
        encrypted_param_names=tuple(_list(data, "encrypted_param_names")),
        parameter_merge_strategies=_map(data, "parameter_merge_strategies"),
        moved=_moved(_map(data, "isotherm")))


def _check_sections(data: Mapping[str, Any]) -> None:
    for section, value in data.items():
        if section not in SECTIONS:
            raise UserError(f'environment has wrong section "{section}"', kind="ValueError",
                            hint=f"sections are: {', '.join(SECTIONS)}")
        if value is None:
            raise _invalid(f'environment has empty section "{section}"')


def _moved(section: Mapping[str, Any]) -> dict[str, str]:
    """Return the moves of the section, which gives them as a map of old names to new names, or as a list of such maps."""
    if unknown := sorted(section.keys() - {"moved"}):
        raise _invalid(f'environment section "isotherm" has no field "{unknown[0]}"; its field is "moved"')
    given = section.get("moved") or {}
    found: dict[str, str] = {}
    for one in given if isinstance(given, list) else [given]:
        if not isinstance(one, Mapping) or not all(isinstance(name, str) for pair in one.items() for name in pair):
            raise _invalid('environment section "isotherm": "moved" must map old names of resources to new names')
        if twice := sorted(found.keys() & one.keys()):
            raise _invalid(f'environment section "isotherm": "moved" names {twice[0]} twice')
        found |= one
    return found


def _map(data: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    value = data.get(section) or {}
    if not isinstance(value, Mapping):
        raise _invalid(f'environment section "{section}" must be a map, not a {type(value).__name__}')
    return value


def _list(data: Mapping[str, Any], section: str) -> list[Any]:
    value = data.get(section) or []
    if not isinstance(value, list):
        raise _invalid(f'environment section "{section}" must be a list, not a {type(value).__name__}')
    return value


def _invalid(message: str) -> UserError:
    return UserError(message, kind="ValueError")


def _checked_registry(data: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the lines that a later null takes back, and check hooks and restrictions."""
    kept: dict[str, Any] = {}
    for name, target in data.items():
        if target is None:
            _take_back(kept, str(name))
        elif name == "resources":
            kept["resources"] = _checked_resources(target, ("resources",))
        elif isinstance(target, str):
            kept[str(name)] = target
        else:
            raise _invalid(f'resource_registry entry "{name}" must be a text, not a {type(target).__name__}')
    return kept


def _without(data: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the lines without the one at the path."""
    if not path:
        return dict(data)
    name, *rest = path
    kept = {key: one for key, one in data.items() if key != name or rest}
    if rest and isinstance(kept.get(name), Mapping):
        kept[name] = _without(kept[name], tuple(rest))
    return kept


def _take_back(kept: dict[str, Any], name: str) -> None:
    if name.endswith("*"):
        for other in [one for one in kept if one != "resources" and one.startswith(name[:-1])]:
            del kept[other]
    kept.pop(name, None)


def _checked_resources(data: object, path: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise _invalid(f'resource_registry entry "{".".join(path)}" must be a map, not a {type(data).__name__}')
    checked: dict[str, Any] = {}
    for name, value in data.items():
        if value is None:
            continue
        if name == "hooks" and len(path) > 1:
            _check_words(value, HOOKS, "InvalidBreakPointHook", (
                f'Invalid hook type "{value}" for resource breakpoint, acceptable hook types are: {HOOKS}'))
            checked["hooks"] = value
        elif name == "restricted_actions" and len(path) > 1:
            _check_words(value, RESTRICTED_ACTIONS, "InvalidRestrictedAction", (
                f'Invalid restricted_action type "{value}" for resource, '
                f"acceptable restricted_action types are: {RESTRICTED_ACTIONS}"))
            checked["restricted_actions"] = value
        elif isinstance(value, str):
            checked[str(name)] = value
        else:
            checked[str(name)] = _checked_resources(value, (*path, str(name)))
    return checked


def _check_words(value: object, allowed: tuple[str, ...], kind: str, message: str) -> None:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(word in allowed for word in words):
        raise UserError(message, kind=kind, hint=f"one of {', '.join(allowed)}")
