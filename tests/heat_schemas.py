"""The schemas of Heat's resource types, as recorded from Heat, and ours, both as single facts that can be compared.

`tests/unit/resources/heat_schemas.json` has the recorded ones: per type its support status, its properties, its
attributes, and the longest name of an object. Values that are the usual ones are left out: no constraint, not required, no
default, status SUPPORTED, 255 characters.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from isotherm.resources import contract
from isotherm.resources.openstack.table_object import TableObject
from isotherm.resources.schema import CACHE_LOCAL, SUPPORTED, AttributeSchema, Schema, Support

RECORDED = Path(__file__).parent / "unit" / "resources" / "heat_schemas.json"
NAME_CHARS = 255
Facts = dict[str, str]


class Difference(NamedTuple):
    """Facts that differ on purpose: patterns of the type and of the path, and the reason."""

    type: str
    path: str
    reason: str


#: All differences from Heat. An entry that does not differ any more fails the test.
DIFFERENCES: tuple[Difference, ...] = (
    Difference("OS::Heat::DeployedServer", "name_limit", "creates no server, so that no service limits the name"),
    Difference("OS::Swift::Container", "properties.*.update_allowed",
               "Swift changes it in place, and a replacement of the same name would be the container itself"),
)


@cache
def recorded() -> dict[str, dict[str, Any]]:
    """Return the recorded schemas by the names of the types."""
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text())
    return found


def of_type(one: type[contract.Resource]) -> dict[str, Any]:
    """Return the schemas of one of our types in the form of the recorded ones."""
    chars = one.table.name_chars if issubclass(one, TableObject) else NAME_CHARS
    return _short({
        "name_limit": None if chars == NAME_CHARS else chars, "support": _support(one.support),
        "properties": {name: _property(schema) for name, schema in one.properties_schema.items()},
        "attributes": {name: _attribute(schema) for name, schema in one.attributes_schema.items()},
    })


def facts(document: Mapping[str, Any], path: str = "") -> Facts:
    """Return the facts of a document by their paths: `properties.networks.*.fixed_ip.type` is `"String"`."""
    found: Facts = {}
    for key, value in document.items():
        # An object in a default or a constraint is a value, and is compared as one.
        if isinstance(value, Mapping) and key != "default":
            found |= facts(value, f"{path}{key}.")
        else:
            found[f"{path}{key}"] = json.dumps(value, sort_keys=True)
    return found


def differing(type_name: str, theirs: Facts, ours: Facts) -> list[str]:
    """Return the paths of the facts that differ, each with both facts."""
    return [f"{type_name} {path}: Heat has {theirs.get(path)}, we have {ours.get(path)}"
            for path in sorted(theirs.keys() | ours.keys()) if theirs.get(path) != ours.get(path)]


def unexplained(found: Iterable[str], differences: Sequence[Difference]) -> tuple[list[str], list[Difference]]:
    """Return the differences that no entry of the list explains, and the entries that explain none."""
    left, used = [], set()
    for line in found:
        type_name, path = line.partition(": ")[0].split(" ")
        fitting = [one for one in differences
                   if fnmatch.fnmatchcase(type_name, one.type) and fnmatch.fnmatchcase(path, one.path)]
        used.update(fitting)
        if not fitting:
            left.append(line)
    return left, [one for one in differences if one not in used]


def _property(schema: Schema) -> dict[str, Any]:
    below: dict[str, Any] = {}
    if isinstance(schema.schema, Schema):
        below = {"*": _property(schema.schema)}
    elif schema.schema is not None:
        below = {name: _property(one) for name, one in schema.schema.items()}
    constraints = sorted((_without_description(one.as_dict()) for one in schema.constraints), key=json.dumps)
    return _short({
        "type": str(schema.type), "default": schema.default, "required": schema.required, "constraints": constraints,
        "update_allowed": schema.update_allowed, "immutable": schema.immutable, "schema": below,
        "implemented": None if schema.implemented else "no", "support": _support(schema.support),
    })


def _attribute(schema: AttributeSchema) -> dict[str, Any]:
    cached = None if schema.cache_mode == CACHE_LOCAL else schema.cache_mode
    kind = None if schema.type is None else str(schema.type)
    return _short({"type": kind, "cache_mode": cached, "support": _support(schema.support)}) or {"type": None}


def _support(support: Support | None) -> dict[str, Any]:
    if support is None:
        return {}
    status = None if support.status == SUPPORTED else support.status
    return _short({"status": status, "version": support.version, "previous": _support(support.previous)})


def _without_description(constraint: Mapping[str, object]) -> dict[str, Any]:
    return {key: value for key, value in constraint.items() if key != "description"}


def _short(document: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the usual values. A default that is false or empty is none of them."""
    return {key: value for key, value in document.items()
            if value is not None and (key == "default" or value not in (False, {}, []))}
