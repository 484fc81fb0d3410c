"""Requirements that no reference shows: types compute them from the template, and every traversal keeps their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.planning import desired
from isotherm.resources import builtin, contract
from isotherm.resources.heat.test_resource import TestResource
from isotherm.resources.schema import ANY, Schema
from tests.engine.conftest import Lab, Tell, resource

NETWORK = Schema(ANY, "The network.", update_allowed=True)


class Subnet(TestResource):
    TYPE = "Test::Subnet"
    properties_schema: ClassVar[Mapping[str, Schema]] = {**TestResource.properties_schema, "network": NETWORK}


class Port(Subnet):
    """Needs the subnets of its network to be there first."""

    TYPE = "Test::Port"

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        network = properties["network"]
        assert network != "broken", "of a wrong form"
        return [one.name for one in others.of_type(Subnet.TYPE) if one.properties.get("network") == network]


class Jealous(TestResource):
    """Requires the requirements of the resource to which its value refers."""

    TYPE = "Test::Jealous"

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        name = contract.referenced(properties.get("value"))
        found = None if name is None else others.named(name)
        return [*(found.requires if found is not None else ()), "nothing of this name"]


TYPES = (Subnet, Port, Jealous)


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    for one in TYPES:
        builtin.registry().register(one)
    yield
    for one in TYPES:
        del builtin.registry().types[one.TYPE]


def of(type_: type[contract.Resource] | str, network: object, **more: Any) -> dict[str, Any]:
    name = type_ if isinstance(type_, str) else type_.TYPE
    return {"type": name, "properties": {"value": "x", "network": network}, **more}


NET = {"get_resource": "net"}


def wanted(resources: dict[str, Any], *, validate: bool = True, **options: Any) -> dict[str, tuple[str, ...]]:
    environment = options.pop("environment", {})
    text = Lab.request(resources, **options).template
    found = desired.desire(desired.StackInput(text, {}, environment), desired.Identity("s", "1", "p"),
                           builtin.registry(), validate=validate)
    return {one.name: one.requires for one in found.wanted}


@pytest.mark.parametrize("validate", [True, False])
def test_equal_references_and_equal_literals_match(validate: bool) -> None:
    found = wanted({
        "port": of(Port, NET), "named": of(Port, "net"), "lonely": of(Port, {"get_resource": "other"}),
        "subnet": of(Subnet, NET), "literal": of(Subnet, {"get_param": "name"}), "net": resource(), "other": resource(),
    }, validate=validate, parameters={"name": {"type": "string", "default": "net"}})
    assert found["port"] == ("net", "subnet")
    assert found["named"] == ("literal",), "parameters are resolved"
    assert found["lonely"] == ("other",)
    assert found["subnet"] == ("net",)


@pytest.mark.parametrize("validate", [True, False])
def test_the_type_that_implements_a_resource_counts(validate: bool) -> None:
    registry = {"My::Subnet": Subnet.TYPE, "My::Port": Port.TYPE}
    found = wanted({"port": of("My::Port", "n"), "subnet": of("My::Subnet", "n")}, validate=validate,
                   environment={"resource_registry": registry})
    assert found["port"] == ("subnet",)


def test_a_neighbour_shows_what_its_template_says_it_requires() -> None:
    found = wanted({"a": {"type": Jealous.TYPE, "properties": {"value": {"get_resource": "b"}}},
                    "b": resource(needs=["c"]), "c": resource()})
    assert found["a"] == ("b", "c")


def test_resources_that_a_condition_leaves_out_are_not_seen() -> None:
    found = wanted({"port": of(Port, "n"), "subnet": of(Subnet, "n", condition="no")}, conditions={"no": False})
    assert found == {"port": ()}


def test_a_cycle_through_an_implied_requirement_is_reported() -> None:
    with pytest.raises(errors.UserError, match="Circular Dependency Found") as raised:
        wanted({"port": of(Port, "n"), "subnet": of(Subnet, "n", depends_on=["port"])})
    assert raised.value.kind == "CircularDependencyException"


@pytest.mark.parametrize("validate", [True, False])
def test_a_type_that_fails_to_say_is_reported(validate: bool) -> None:
    with pytest.raises(errors.UserError, match=r"implied requirements of resource port \(Test::Port\) cannot be computed"):
        wanted({"port": of(Port, "broken")}, validate=validate)


def test_creation_and_deletion_keep_the_order(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        parts = {"port": of(Port, NET), "subnet": of(Subnet, NET), "net": resource()}
        assert (await it.create(parts))["status"] == "COMPLETE"
        events = [(one["resource_name"], one["resource_status"]) for one in await it.api.events.list("s", last=1000)]
        assert events.index(("subnet", "CREATE_COMPLETE")) < events.index(("port", "CREATE_IN_PROGRESS"))
        # The port keeps the subnet until it is gone itself, also where both leave with an update.
        assert (await it.update({"net": resource()}))["status"] == "COMPLETE"
        events = [(one["resource_name"], one["resource_status"]) for one in await it.api.events.list("s", last=1000)]
        assert events.index(("port", "DELETE_COMPLETE")) < events.index(("subnet", "DELETE_IN_PROGRESS"))

    lab(story)


def test_a_subnet_that_comes_later_is_required_from_then_on(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        parts = {"port": of(Port, NET), "net": resource()}
        assert (await it.create(parts))["status"] == "COMPLETE"
        port = (await it.physical())["port"]
        assert (await it.update({**parts, "subnet": of(Subnet, NET)}))["status"] == "COMPLETE"
        assert (await it.physical())["port"] == port
        assert (await it.update({"net": resource()}))["status"] == "COMPLETE"
        events = [(one["resource_name"], one["resource_status"]) for one in await it.api.events.list("s", last=1000)]
        assert events.index(("port", "DELETE_COMPLETE")) < events.index(("subnet", "DELETE_IN_PROGRESS"))

    lab(story)
