"""The types of OpenStack have the properties and attributes of Heat's types: `heat_types.json` has the facts.

Each difference is in DIFFERENCES, with its reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from isotherm.resources import builtin
from isotherm.resources.schema import AttributeSchema, Schema, Support

HEAT: dict[str, Any] = json.loads(Path(__file__).with_name("heat_types.json").read_text())
# By type and path: why we differ.
_IN_PLACE = "Swift changes it in place; a replacement of the same name would be the container itself"
DIFFERENCES: dict[tuple[str, str], str] = {
    ("OS::Swift::Container", f"properties.{name}.update_allowed"): _IN_PLACE
    for name in ("PurgeOnDelete", "X-Account-Meta", "X-Container-Meta", "X-Container-Read", "X-Container-Write")
}

BUILT = sorted(HEAT.keys() & builtin.registry().types.keys())


@pytest.mark.parametrize("name", BUILT)
def test_a_type_has_the_schema_of_heat(name: str) -> None:
    heat, ours = HEAT[name], builtin.registry().types[name]
    found = dict(_flat(heat["properties"], "properties")) | dict(_flat(heat["attributes"], "attributes"))
    own = {name: _property(one) for name, one in ours.properties_schema.items()}
    mine = dict(_flat(own, "properties")) | dict(_flat(
        {name: _attribute(one) for name, one in ours.attributes_schema.items()}, "attributes"))
    differing = {path for path in found.keys() | mine.keys() if found.get(path) != mine.get(path)}
    known = {path for type_, path in DIFFERENCES if type_ == name}
    shown = {path: (found.get(path, "nothing"), mine.get(path, "nothing")) for path in sorted(differing - known)}
    assert not shown, "Heat has the first, the type the second"
    assert known <= differing, "listed as a difference, and is none"


@pytest.mark.parametrize("name", BUILT)
def test_every_property_and_attribute_is_described(name: str) -> None:
    ours = builtin.registry().types[name]
    texts = [(path, one.description) for path, one in _below(ours.properties_schema, "")]
    texts += [(path, one.description) for path, one in ours.attributes_schema.items()]
    assert ours.DESCRIPTION.endswith(".")
    assert [path for path, text in texts if not text.endswith(".") or "TODO" in text] == []


def test_the_facts_are_of_types_that_exist() -> None:
    assert {type_ for type_, _ in DIFFERENCES} <= HEAT.keys()
    assert BUILT


def _below(schemas: Mapping[str, Schema], path: str) -> list[tuple[str, Schema]]:
    found: list[tuple[str, Schema]] = []
    for name, one in schemas.items():
        found.append((f"{path}{name}", one))
        inner = one.schema
        below = {"*": inner} if isinstance(inner, Schema) else inner or {}
        found += _below(below, f"{path}{name}.")
    return found


def _flat(data: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(data, Mapping) and data:
        return [pair for name, below in data.items() for pair in _flat(below, f"{path}.{name}")]
    return [(path, data)]


def _property(one: Schema) -> dict[str, Any]:
    inner = one.schema
    below = {"*": _property(inner)} if isinstance(inner, Schema) else {
        name: _property(schema) for name, schema in (inner or {}).items()}
    found = {
        "type": one.type.value, "default": one.default, "required": one.required or None,
        "update_allowed": one.update_allowed or None, "immutable": one.immutable or None, "schema": below or None,
        "constraints": [_lean(constraint.as_dict()) for constraint in one.constraints] or None,
        "support_status": _support(one.support), "implemented": None if one.implemented else False,
    }
    return {name: value for name, value in found.items() if value is not None}


def _attribute(one: AttributeSchema) -> dict[str, Any]:
    found = {"type": one.type.value if one.type else None, "support_status": _support(one.support),
             "cache_mode": one.cache_mode if one.cache_mode != "cache_local" else None}
    return {name: value for name, value in found.items() if value is not None}


def _support(one: Support) -> dict[str, Any] | None:
    return None if one == Support() else _status(one)


def _status(one: Support) -> dict[str, Any]:
    found = {"status": one.status, "version": one.version,
             "previous_status": _status(one.previous) if one.previous else None}
    return {name: value for name, value in found.items() if value is not None}


def _lean(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {name: _lean(one) for name, one in data.items() if one is not None and name != "description"}
    return data
