"""Stacks that are abandoned before they are whole: adopting takes over what is there, and makes what is not."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.queries.stacks import StackQuery
from isotherm.store import tables as t
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.test_export import abandoned, adopted

PARAMETERS = {"fail": {"type": "boolean", "default": True}}
INNER = """
heat_template_version: 2021-04-16
parameters: {fail: {type: boolean}, value: {type: string}}
resources:
  x: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
  y: {type: OS::Heat::TestResource, properties: {value: y, fail: {get_param: fail}}, depends_on: x}
  z: {type: OS::Heat::TestResource, properties: {value: z}, depends_on: y}
outputs:
  told: {value: {get_attr: [x, output]}}
"""
OUTER = """
heat_template_version: 2021-04-16
parameters: {fail: {type: boolean}, value: {type: string}}
resources:
  n: {type: inner.yaml, properties: {fail: {get_param: fail}, value: {get_param: value}}}
"""
FILES = {"inner.yaml": INNER, "outer.yaml": OUTER}
MENDED = Patch(environment={"parameters": {"fail": False}})


def half_made() -> dict[str, Any]:
    """One that is made, one that fails, one that is never begun."""
    return {"a": resource("a"), "bad": resource("b", fail={"get_param": "fail"}, needs=["a"]),
            "c": resource("c", needs=["bad"])}


def inside(kind: str = "inner.yaml", *, fail: Any = False) -> dict[str, Any]:
    return {"type": kind, "properties": {"fail": fail, "value": {"get_attr": ["a", "output"]}}}


def as_heat_has_it(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the export document of a nested stack, without fields that Heat does not export."""
    own = ("resource_id", "type", "metadata", "resource_data") if "template" in entry else ()
    inner = {name: as_heat_has_it(one) for name, one in entry.get("resources", {}).items()}
    return {key: value for key, value in entry.items() if key not in own} | ({"resources": inner} if inner else {})


async def all_stacks(it: Lab) -> list[str]:
    return [one["stack_name"] for one in await it.api.stacks.page(StackQuery(nested=True))]


async def look(it: Lab, table: sa.Table) -> list[Any]:
    return await it.engine.store.read(lambda connection: list(connection.execute(sa.select(table))))


def test_what_a_failed_stack_never_made_is_created(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        assert (await it.create(half_made(), parameters=PARAMETERS))["stack_status"] == "CREATE_FAILED"
        a = (await it.physical())["a"]
        papers = await abandoned(it)
        stack = await adopted(it, papers, MENDED)
        assert stack["stack_status"] == "ADOPT_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["a", "b", "c"]
        assert (await it.physical())["a"] == a
        assert [await it.status(name) for name in ("a", "bad", "c")] == [
            "ADOPT_COMPLETE", "CREATE_COMPLETE", "CREATE_COMPLETE"]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_an_adoption_that_is_undone_deletes_what_it_has_made_and_nothing_else(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {**half_made(), "n": inside(fail={"get_param": "fail"})}
        await it.create(template, parameters=PARAMETERS, files=FILES)
        made = set(it.objects())
        assert sorted(it.values()) == ["a", "a"], "a, and x of the stack inside"
        papers = await abandoned(it)
        papers["template"]["resources"]["late"] = resource("late")
        papers["resources"]["late"] = {}
        stack = await adopted(it, papers, Patch(disable_rollback=False))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE", stack["stack_status_reason"]
        assert set(it.objects()) == made
        assert await all_stacks(it) == ["s"]
        await it.delete()
        assert set(it.objects()) == made

    lab(story)


@pytest.mark.parametrize("known", [True, False], ids=["retained", "by its token"])
def test_what_was_being_created_is_found(lab: Tell, known: Any) -> None:
    """An export document of a moment at which the object exists, and its row does not have the id."""

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2")})
        papers = await it.api.exports.export("s", hidden=True)
        a = papers["resources"]["a"].pop("resource_id")
        tokens = {row.name: row.token for row in await look(it, t.resources)}
        papers["resources"]["a"] |= {"token": tokens["a"], "status": "IN_PROGRESS"}
        with pytest.raises(errors.Conflict, match=r"resources\.a: stack s is still creating it, or owns it"):
            await it.api.exports.adopt("t", papers)
        await abandoned(it)
        if not known:
            await it.engine.store.write(lambda connection: connection.execute(sa.delete(t.retained)))
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_COMPLETE"
        assert (await it.physical())["a"] == a
        assert it.values() == ["1", "2"], "nothing was made twice"
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_what_was_being_created_and_never_was_is_created(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        papers = await abandoned(it)
        papers["resources"]["b"] = {"token": "nobody-has-this-one", "status": "IN_PROGRESS"}
        papers["template"]["resources"]["b"] = resource("2")
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_COMPLETE"
        assert it.values() == ["1", "2"]
        await it.delete()
        assert it.objects() == {}

    lab(story)


def test_abandoned_in_the_middle_of_everything(lab: Tell) -> Any:
    """Each resource that was in progress, nested ones too, exists once after the adoption."""

    async def story(it: Lab) -> None:
        slow = INNER.replace("{value: z}", "{value: z, wait_secs: 0.2}")
        template = {"a": resource("a"), "n": inside("outer.yaml"), "b": resource("b", wait_secs=0.2),
                    "c": resource("c", needs=["b"])}
        for moment in range(6):
            await it.api.stacks.create("s", it.request(template, files={**FILES, "inner.yaml": slow}))
            await it.until(partial(_has, it, moment))
            papers = await abandoned(it)
            assert await all_stacks(it) == [], "the stacks inside are gone too"
            stack = await adopted(it, papers)
            assert stack["stack_status"] == "ADOPT_COMPLETE", stack["stack_status_reason"]
            assert it.values() == ["a", "a", "b", "c", "y", "z"], moment
            await it.delete()
            assert it.objects() == {}

    async def _has(it: Lab, count: int) -> bool:
        return len(it.objects()) >= count

    lab(story)


@pytest.mark.parametrize("heat", [False, True], ids=["ours", "heat's"])
def test_a_nested_stack_that_failed_half_way(lab: Tell, heat: Any) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource("a"), "n": inside("outer.yaml", fail={"get_param": "fail"}),
                    "b": resource({"get_attr": ["n", "resource.n", "told"]})}
        stack = await it.create(template, files=FILES, parameters=PARAMETERS)
        assert stack["stack_status"] == "CREATE_FAILED"
        made = set(it.objects())
        assert it.values() == ["a", "a"]
        papers = await abandoned(it)
        assert await all_stacks(it) == []
        if heat:
            papers["resources"] = {name: as_heat_has_it(one) for name, one in papers["resources"].items()}
            assert "resource_id" not in papers["resources"]["n"]["resources"]["n"]
        stack = await adopted(it, papers, MENDED)
        assert stack["stack_status"] == "ADOPT_COMPLETE", stack["stack_status_reason"]
        assert it.values() == ["a", "a", "a", "y", "z"]
        assert made < set(it.objects()), "what was there was not made anew"
        told = [one["resource_status"] for one in await it.api.resources.list((await it.physical())["n"])]
        assert told == ["ADOPT_COMPLETE"]
        await it.delete()
        assert it.objects() == {}
        assert await all_stacks(it) == []

    lab(story)


def test_a_delete_before_anything_was_looked_at_deletes_what_is_inside_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stuck = {"first": resource("1"), "a": resource("a", needs=["first"]), "n": inside()}
        await it.create(stuck, files=FILES)
        papers = await abandoned(it)
        await it.take_away(papers["resources"]["first"]["resource_id"])
        assert (await adopted(it, papers))["stack_status"] == "ADOPT_FAILED"
        assert await it.status("n") == "ADOPT_IN_PROGRESS"
        await it.delete()
        assert it.objects() == {}
        assert await all_stacks(it) == []

    lab(story)


def test_a_nested_object_that_has_an_owner_is_not_adopted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("a"), "n": inside()}, files=FILES)
        papers = await it.api.exports.export("s", hidden=True)
        papers["template"]["resources"] = {"n": {**inside(), "properties": {"fail": False, "value": "a"}}}
        with pytest.raises(errors.Conflict, match=r"resources\.x: .* belongs to resource x of stack s-n-"):
            await it.api.exports.adopt("thief", papers)
        del papers["resources"]["n"]["resources"]["x"]
        with pytest.raises(errors.UserError, match=r"resources\.n\.resources\.x: Resource ID was not provided"):
            await it.api.exports.adopt("thief", papers)
        del papers["resources"]["n"]["template"]
        with pytest.raises(errors.UserError, match=r"resources\.n: it is a nested stack, and its template"):
            await it.api.exports.adopt("thief", papers)

    lab(story)


@pytest.mark.parametrize("kind", ["OS::Heat::ResourceGroup", "OS::Heat::AutoScalingGroup"])
def test_the_members_of_a_group_come_along(lab: Tell, kind: Any) -> Any:
    async def story(it: Lab) -> None:
        one = resource("m")
        given = {"count": 3, "resource_def": one} if kind.endswith("ResourceGroup") else {
            "min_size": 1, "max_size": 9, "desired_capacity": 3, "resource": one}
        await it.create({"g": {"type": kind, "properties": given}})
        before = await members(it)
        papers = await abandoned(it)
        stack = await adopted(it, papers)
        assert stack["stack_status"] == "ADOPT_COMPLETE", stack["stack_status_reason"]
        assert await members(it) == before
        await it.update({"g": {"type": kind, "properties": given}})
        assert await members(it) == before
        await it.delete()
        assert it.objects() == {}

    async def members(it: Lab) -> dict[str, str]:
        found = await it.api.resources.list((await it.physical())["g"])
        return {one["resource_name"]: one["physical_resource_id"] for one in found}

    lab(story)


def test_an_update_overtakes_an_abandon(tmp_path: Path) -> None:
    """Resources whose abandon was called off are deleted with their stack, nested ones too."""
    template = {"a": resource("a"), "n": inside("outer.yaml")}

    async def story() -> None:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        async with engine.driving():
            await it.create(template, files=FILES)
            before = it.objects()
        # No engine runs: the abandon does not get any further.
        await it.api.exports.abandon("s")
        accepted = await it.api.stacks.update("s", it.request(template, files=FILES))
        async with engine.driving():
            stack = await it.end(accepted)
            assert stack["stack_status"] == "UPDATE_COMPLETE", stack["stack_status_reason"]
            assert it.objects() == before
            await it.delete()
            assert it.objects() == {}
        engine.close()

    asyncio.run(story())
