"""Compares the last applied state, the live state and the wanted state. Pure.

Drift is a live value that differs from the applied one: it was changed outside of the engine. It does not count if the
schema says that the object does not show the property (`observable`, `write_only`), that the service may change it
(`managed`), or that both values mean the same (`normalise`, and the aliases of a Seen); nor if the template gave no
value, or the property was not observed. A wanted value that was not applied yet is a pending change, not drift.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from isotherm.resources import properties
from isotherm.resources.reality.observation import Seen
from isotherm.resources.schema import Schema


class Schemas(Protocol):
    """A resource type, as far as drift depends on it: the schema for given properties."""

    def schema_for(self, properties: Mapping[str, Any], /) -> Mapping[str, Schema]: ...


@dataclass(frozen=True, slots=True)
class Drift:
    """A property that was changed outside of the engine. `is_wanted`: the new value is what the newest template wants."""

    property: str
    applied: Any
    live: Any
    wanted: Any
    is_wanted: bool = False


def compare(
    type_: Schemas, applied: Mapping[str, Any], seen: Seen, wanted: Mapping[str, Any] | None = None
) -> list[Drift]:
    """Return the properties that drifted, in the order of the schema.

    Values are typed; without `wanted`, the applied state is wanted.
    """
    wanted = applied if wanted is None else wanted
    found = []
    for name, schema in _looked_at(type_, applied, seen):
        if applied.get(name) is not None and not _means(schema, applied[name], name, seen):
            want = wanted.get(name)
            settled = want is not None and _means(schema, want, name, seen)
            found.append(Drift(name, applied[name], seen.properties[name], want, settled))
    return found


def to_change(
    type_: Schemas, applied: Mapping[str, Any], seen: Seen, wanted: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the new values, by name, with which an update brings reality to the wanted state.

    Properties that were not observed are compared with the applied state.
    """
    live = {name: schema for name, schema in _looked_at(type_, wanted, seen) if wanted.get(name) is not None}
    found = {name for name in properties.diff(applied, wanted) if name not in live}
    found |= {name for name, schema in live.items() if not _means(schema, wanted[name], name, seen)}
    return {name: wanted.get(name) for name in sorted(found)}


def visible(type_: Schemas, seen: Seen, wanted: Mapping[str, Any]) -> set[str]:
    """Return the properties whose live values were observed and count."""
    return {name for name, _ in _looked_at(type_, wanted, seen) if wanted.get(name) is not None}


def _looked_at(type_: Schemas, given: Mapping[str, Any], seen: Seen) -> list[tuple[str, Schema]]:
    known = type_.schema_for(given)
    return [(name, schema) for name, schema in known.items() if name in seen.properties and _counts(schema)]


def _counts(schema: Schema) -> bool:
    return schema.observable and not schema.managed and not schema.write_only


def _means(schema: Schema, value: Any, name: str, seen: Seen) -> bool:
    live = [seen.properties[name], *seen.aliases.get(name, ())]
    return any(same(schema, value, one) for one in live)


def same(schema: Schema, value: Any, live: Any) -> bool:
    """Return whether a live value is the one asked for. Keys of a map that the template leaves out may have any value."""
    value, live = _normal(schema, value), _normal(schema, live)
    if isinstance(value, Mapping) and isinstance(live, Mapping) and schema.schema is not None:
        return _same_map(schema.schema, value, live)
    if _is_list(value) and _is_list(live) and isinstance(schema.schema, Schema):
        item = schema.schema
        return len(value) == len(live) and all(same(item, one, other) for one, other in zip(value, live, strict=True))
    return bool(value == live)


def _same_map(schema: Mapping[str, Schema] | Schema, value: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    if isinstance(schema, Schema):
        return value.keys() == live.keys() and all(same(schema, one, live[key]) for key, one in value.items())
    return all(
        same(schema[name], one, live[name]) for name, one in value.items()
        if one is not None and name in live and name in schema and _counts(schema[name])
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _normal(schema: Schema, value: Any) -> Any:
    """Return the value in its normal form: converted to the schema's type where possible, then normalised."""
    try:
        typed = properties.scalar(schema, value)
        return typed if schema.normalise is None or typed is None else schema.normalise(typed)
    except (properties.Invalid, TypeError, ValueError):
        return value  # it does not fit, and so differs from what does
