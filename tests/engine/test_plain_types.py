"""Types with plain methods, which run on threads: their twins go through everything that the async ones go through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import builtin, contract
from isotherm.resources.heat.dummy import Dummy
from isotherm.resources.heat.test_resource import TestResource
from isotherm.sim.world import plain_types
from tests.engine.conftest import Lab, Tell
from tests.engine.test_snapshots import Disk

PlainDummy = plain_types.twin(Dummy, "Test::PlainDummy")
PlainDisk = plain_types.twin(Disk, "Test::PlainDisk")


class LostTwice(TestResource):
    """The answers to its first two requests to create are lost: the first was never heard, the second was."""

    TYPE = "Test::Lost"
    asked = 0

    async def handle_create(self) -> object:
        LostTwice.asked += 1
        if LostTwice.asked > 1:
            await super().handle_create()
            self.physical_id = None
        raise errors.Temporary("gateway timeout", 0.01)


PlainLost: Any = plain_types.twin(LostTwice, "Test::PlainLost")


class Mistaken(TestResource):
    """Its author has made a mistake, and reads an attribute that is not there."""

    TYPE = "Test::Mistaken"

    def attribute(self, name: str) -> object:  # type: ignore[override]
        return len(None)  # type: ignore[arg-type]


class Refused(TestResource):
    """A resource whose attribute cannot be had."""

    TYPE = "Test::Refused"

    def attribute(self, name: str) -> object:  # type: ignore[override]
        raise errors.Permanent("nobody has it")


TYPES: tuple[type[contract.Resource], ...] = (PlainDummy, PlainDisk, PlainLost, Mistaken, Refused)


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    for one in TYPES:
        builtin.registry().register(one)
    yield
    for one in TYPES:
        del builtin.registry().types[one.TYPE]


def one(type_: type[contract.Resource], **properties: Any) -> dict[str, Any]:
    return {"type": type_.TYPE, "properties": properties}


def dummy(word: str = "a", **properties: Any) -> dict[str, Any]:
    return one(PlainDummy, update_in_place_prop=word, max_wait_secs=0, **properties)


def reads(attribute: str = "name") -> dict[str, Any]:
    return {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["d", attribute]}}}


OUTPUTS = {"name": {"value": {"get_attr": ["v", "value"]}}, "reference": {"value": {"get_resource": "d"}}}


async def outputs(it: Lab) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}


def test_the_life_of_a_plain_dummy(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"d": dummy(), "v": reads()}, outputs=OUTPUTS)
        assert stack["status"] == "COMPLETE", stack
        first = (await it.physical())["d"]
        assert await outputs(it) == {"name": first, "reference": first}
        await it.update({"d": dummy("b"), "v": reads()}, outputs=OUTPUTS)
        assert await it.physical() | {"d": first} == await it.physical()
        assert it.objects()[first]["update_in_place_prop"] == "b"
        await it.update({"d": dummy("b", name_len=12), "v": reads()}, outputs=OUTPUTS)
        second = (await it.physical())["d"]
        assert list(it.objects()) == [second] != [first]
        assert await outputs(it) == {"name": second, "reference": second}
        for ask in (it.api.stacks.check, it.api.stacks.suspend, it.api.stacks.resume):
            assert (await it.end(await ask("s")))["status"] == "COMPLETE"
        shown = await it.api.resources.show("s", "d")
        assert shown["attributes"] == {"name": second}
        assert (await it.delete())["status"] == "COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_a_plain_dummy_is_looked_at(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": dummy()})
        first = (await it.physical())["d"]
        await it.change(first, {"name_len": 10, "update_in_place_prop": "of somebody else"})
        await it.api.drift.observe("s")
        drift = await it.api.drift.show_resource("s", "d")
        assert [one["property"] for one in drift["properties"]] == ["update_in_place_prop"], drift
        await it.end(await it.api.stacks.update("s", it.request({"d": dummy()}, converge=True)))
        assert it.objects()[first]["update_in_place_prop"] == "a"
        await it.take_away(first)
        await it.end(await it.api.stacks.update("s", it.request({"d": dummy()}, converge=True)))
        assert list(it.objects()) == [(await it.physical())["d"]] != [first]

    lab(story)


def test_snapshots_of_a_plain_type(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": one(PlainDisk, value="then")})
        disk = (await it.physical())["d"]
        taken = await it.api.snapshots.take("s", None)
        assert (await it.end(taken))["status"] == "COMPLETE"
        [copy] = it.objects().keys() - {disk}
        await it.change(disk, {"value": "now"})
        await it.end(await it.api.snapshots.restore("s", taken.operation_id))
        assert it.objects()[(await it.physical())["d"]] == {"value": "then"}
        await it.api.snapshots.delete("s", taken.operation_id)

        async def gone() -> bool:
            return copy not in it.objects()

        await it.until(gone)

    lab(story)


@pytest.mark.ledger("S0.4")
def test_what_a_plain_type_has_made_is_found_by_its_token(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        LostTwice.asked = 0
        stack = await it.create({"r": one(PlainLost, value="x")})
        assert stack["status"] == "COMPLETE", stack
        assert LostTwice.asked == 2
        assert [*it.objects()] == [(await it.physical())["r"]]

    lab(story)


def test_a_mistake_in_a_type_is_not_taken_for_a_value(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"d": one(Mistaken), "v": reads("output")})
        assert stack["status"] == "FAILED"
        assert "TypeError: resources.d: object of type 'NoneType' has no len()" in stack["stack_status_reason"]
        [made] = it.objects()
        assert (await it.physical())["d"] == made, "it is known, and deleted with the stack"
        assert (await it.delete())["status"] == "COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_what_is_refused_on_purpose_is_null(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"d": one(Refused)}, outputs={"it": {"value": {"get_attr": ["d", "output"]}}})
        assert stack["status"] == "COMPLETE", stack
        assert await outputs(it) == {"it": None}

    lab(story)


def test_a_plain_change_is_rolled_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"d": dummy()})
        stack = await it.update({"d": dummy("b", fail_prop="yes")}, disable_rollback=False)
        assert (stack["action"], stack["status"]) == ("ROLLBACK", "COMPLETE"), stack
        assert [one["update_in_place_prop"] for one in it.objects().values()] == ["a"]

    lab(story)
