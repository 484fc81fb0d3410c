"""The schemas of our types are those of Heat: every property, attribute, constraint and support status."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from isotherm.resources import builtin, cloud_lookups
from isotherm.resources.openstack.table_object import TableObject
from isotherm.resources.schema import Schema
from isotherm.resources.validation import custom_constraints
from isotherm.template.parameters.constraints import CustomConstraint
from tests import heat_schemas
from tests.heat_schemas import Difference

#: Types that Heat does not have.
OWN = {"OS::Heat::Dummy"}
TYPES = builtin.registry().types
OF_HEAT = sorted(name for name in TYPES if name not in OWN and not name.startswith("Isotherm::"))


def test_all_schemas_are_those_of_heat_but_for_the_listed_differences() -> None:
    found = [line for name in OF_HEAT for line in heat_schemas.differing(
        name, heat_schemas.facts(heat_schemas.recorded()[name]), heat_schemas.facts(heat_schemas.of_type(TYPES[name])))]
    left, stale = heat_schemas.unexplained(found, heat_schemas.DIFFERENCES)
    assert not left, "differs from Heat:\n" + "\n".join(left)
    assert not stale, f"does not differ any more: {stale}"
    assert all(one.reason for one in heat_schemas.DIFFERENCES)


def test_each_type_of_openstack_is_compared() -> None:
    tables = {name for name, one in TYPES.items() if issubclass(one, TableObject)}
    assert tables and tables <= set(OF_HEAT)


@pytest.mark.parametrize(("path", "value"), [
    ("type", "Map"), ("required", True), ("default", "x"), ("update_allowed", True), ("immutable", True),
    ("constraints", [{"length": {"max": 3}}]), ("schema", {"*": {"type": "String"}}), ("support", {"status": "HIDDEN"}),
    ("implemented", "no"), ("new", {"type": "String"})])
def test_each_kind_of_difference_is_found(path: str, value: object) -> None:
    ours = heat_schemas.of_type(TYPES["OS::Nova::Server"])
    changed = copy.deepcopy(ours)
    if path == "new":
        changed["attributes"][path] = value
    else:
        changed["properties"]["config_drive"][path] = value
    found = heat_schemas.differing("T", heat_schemas.facts(ours), heat_schemas.facts(changed))
    assert len(found) == 1 and path in found[0]


def test_an_entry_explains_what_it_names_and_nothing_else() -> None:
    found = heat_schemas.differing("OS::A::B", {"p.type": "1", "q.type": "1"}, {"p.type": "2", "q.type": "2"})
    used, stale = Difference("OS::A::*", "p.*", "why"), Difference("OS::A::B", "r.*", "why not")
    assert heat_schemas.unexplained(found, [used, stale]) == (
        ["OS::A::B q.type: Heat has 1, we have 2"], [stale])


def test_each_custom_constraint_is_checked() -> None:
    named = {name for one in TYPES.values() for schema in one.properties_schema.values() for name in _custom(schema)}
    unknown = [name for name in sorted(named)
               if name not in cloud_lookups.CONSTRAINTS and custom_constraints.LOCAL.find(name) is None]
    assert named and unknown == []


def _custom(schema: Schema) -> Iterator[str]:
    yield from (one.constraint for one in schema.constraints if isinstance(one, CustomConstraint))
    inner = schema.schema
    for one in () if inner is None else (inner,) if isinstance(inner, Schema) else inner.values():
        yield from _custom(one)
