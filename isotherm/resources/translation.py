"""Translation of properties: old spellings into the new ones, names into ids, before a type sees them.

A type that renames a property keeps old templates working by a rule here instead of by code in its handlers. Rules run
in Heat's order (add, replace, resolve, delete) on plain data. Translation is pure: what RESOLVE needs to know of a cloud is
asked before (see `cloud_lookups`), and while a template is only validated, names stay names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from isotherm.errors import UserError
from isotherm.resources.cloud_lookups import Ask


class Kind(IntEnum):
    """The kind of a rule. Rules run in the order of these numbers."""

    ADD = 1
    REPLACE = 2
    RESOLVE = 3
    DELETE = 4


# Returns the id for a name that a finder can look up.
IdOf = Callable[[Ask, Any], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `path` names the property, through lists of maps where need be.

    ADD appends what `make` builds of the property `source` to the list at `path`, if `source` is given.
    REPLACE moves the value of `source` (a sibling: the last name only, or a whole path) to `path`.
    RESOLVE replaces the name (or the names) at `path` by the id that `finder` finds in the cloud.
    DELETE drops it.
    """

    kind: Kind
    path: tuple[str, ...]
    source: tuple[str, ...] = ()
    make: Callable[[Any], Any] | None = None
    finder: Ask | None = None


def translate(rules: Iterable[Rule], data: Mapping[str, Any], *, id_of: IdOf | None = None) -> Mapping[str, Any]:
    """Return the data after all rules, without changing the given data. Without `id_of`, names stay names."""
    ordered = sorted((rule for rule in rules if id_of or rule.kind is not Kind.RESOLVE), key=lambda rule: rule.kind)
    result = data
    for rule in ordered:
        if rule.kind is Kind.RESOLVE:
            assert id_of is not None
            result = _resolve(rule, result, id_of)
        else:
            result = _APPLY[rule.kind](rule, result)
    return result


def _add(rule: Rule, data: Mapping[str, Any]) -> Mapping[str, Any]:
    value = _read(data, rule.source)
    if value is None:
        return data
    added = rule.make(value) if rule.make else value
    before = data.get(rule.path[0])
    if before is not None and not isinstance(before, list):
        raise UserError(f"Incorrect translation rule using - cannot resolve Add rule for non-list translation value "
                        f'"{".".join(rule.path)}".')
    if before:
        clash = ", ".join((".".join(rule.source), ".".join(rule.path)))
        raise UserError(f"Cannot define the following properties at the same time: {clash}.")
    return {**data, rule.path[0]: [added]}


def _replace(rule: Rule, data: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(rule.path) > 1:
        return _descend(rule, data, _replace)
    name, source = rule.path[0], rule.source[-1]
    if data.get(source) is None:
        return data
    if data.get(name) is not None:
        raise UserError(f"Cannot define the following properties at the same time: {name}, {source}.")
    moved = {key: value for key, value in data.items() if key != source}
    return {**moved, name: rule.make(data[source]) if rule.make else data[source]}


def _resolve(rule: Rule, data: Mapping[str, Any], id_of: IdOf) -> Mapping[str, Any]:
    if len(rule.path) > 1:
        return _descend(rule, data, lambda inner, below: _resolve(inner, below, id_of))
    name, finder = rule.path[0], rule.finder
    value = data.get(name)
    if value is None or finder is None:
        return data
    return {**data, name: [id_of(finder, one) for one in value] if isinstance(value, list) else id_of(finder, value)}


def _delete(rule: Rule, data: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(rule.path) > 1:
        return _descend(rule, data, _delete)
    return {key: value for key, value in data.items() if key != rule.path[0]} if rule.path[0] in data else data


_APPLY: dict[Kind, Callable[[Rule, Mapping[str, Any]], Mapping[str, Any]]] = {
    Kind.ADD: _add, Kind.REPLACE: _replace, Kind.DELETE: _delete}


def _descend(rule: Rule, data: Mapping[str, Any],
             apply: Callable[[Rule, Mapping[str, Any]], Mapping[str, Any]]) -> Mapping[str, Any]:
    below = data.get(rule.path[0])
    inner = Rule(rule.kind, rule.path[1:], rule.source, rule.make, rule.finder)
    if isinstance(below, list):
        return {**data, rule.path[0]: [apply(inner, one) if isinstance(one, Mapping) else one for one in below]}
    return {**data, rule.path[0]: apply(inner, below)} if isinstance(below, Mapping) else data


def _read(data: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
