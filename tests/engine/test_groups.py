"""Groups of resources: as many as are wanted, at once or in batches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from isotherm import errors
from isotherm.engine.orchestrator import Accepted
from tests.engine.conftest import Lab, Tell, _lab, resource

LEAF = """
heat_template_version: 2021-04-16
parameters:
  value: {type: string}
resources:
  inner: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
outputs:
  out: {value: {get_attr: [inner, output]}}
"""


def group(
    count: object, value: object = "m%index%", *, policy: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    of = more.pop("of", "OS::Heat::TestResource")
    properties = {"count": count, "resource_def": {"type": of, "properties": {"value": value, **more.pop("own", {})}},
                  **more}
    made: dict[str, Any] = {"type": "OS::Heat::ResourceGroup", "properties": properties}
    return {**made, "update_policy": policy} if policy else made


def out(*path: Any) -> dict[str, Any]:
    return {"value": {"get_attr": list(path)}}


async def complete(it: Lab, answer: dict[str, Any]) -> None:
    assert answer["status"] == "COMPLETE", answer["stack_status_reason"]


async def outputs(it: Lab) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}


async def inside(it: Lab, name: str = "g") -> str:
    """The id of the stack that is the group."""
    return (await it.physical())[name]


async def ids(it: Lab) -> dict[str, str]:
    return {one["resource_name"]: one["physical_resource_id"] for one in await it.api.resources.list(await inside(it))}


async def batches(it: Lab) -> list[set[str]]:
    """The members that were changed by each operation on the group, in their order."""
    found: dict[str, set[str]] = {}
    for one in await it.api.events.list(await inside(it), last=1000):
        changed = found.setdefault(one["operation_id"], set())
        if one["resource_name"].isdigit() and one["resource_status"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            changed.add(one["resource_name"])
    return list(found.values())


def test_as_many_as_are_wanted(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(3)}))
        assert it.values() == ["m0", "m1", "m2"]
        before = await ids(it)
        await complete(it, await it.update({"g": group(5)}))
        assert it.values() == ["m0", "m1", "m2", "m3", "m4"]
        await complete(it, await it.update({"g": group(2)}))
        after = await ids(it)
        assert after == {name: before[name] for name in ("0", "1")}, "the highest names go, the others stay as they are"
        assert it.values() == ["m0", "m1"]
        await complete(it, await it.update({"g": group(0)}))
        assert it.objects() == {}
        await complete(it, await it.delete())

    lab(story)


def test_what_can_be_read_of_a_group(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        wanted = {
            "refs": out("g", "refs"), "first": out("g", "refs", 0), "map": out("g", "refs_map"),
            "all": out("g", "output"), "by_name": out("g", "attributes", "output"), "one": out("g", "resource.1"),
            "of_one": out("g", "resource.1.output"), "removed": out("g", "removed_rsrc_list"),
            "nobody": out("g", "resource.7.output"),
        }
        reader = resource({"list_join": [",", {"get_attr": ["g", "output"]}]})
        await complete(it, await it.create({"g": group(2), "reader": reader}, outputs=wanted))
        found, physical = await outputs(it), await ids(it)
        assert found["refs"] == [physical["0"], physical["1"]]
        assert found["first"] == physical["0"]
        assert found["map"] == physical
        assert found["all"] == ["m0", "m1"]
        assert found["by_name"] == {"0": "m0", "1": "m1"}
        assert found["one"] == physical["1"]
        assert found["of_one"] == "m1"
        assert found["removed"] == []
        assert found["nobody"] is None
        assert it.values() == ["m0", "m0,m1", "m1"]
        # More members, and the readers of the group are updated.
        await complete(it, await it.update({"g": group(3), "reader": reader}, outputs=wanted))
        assert (await outputs(it))["by_name"] == {"0": "m0", "1": "m1", "2": "m2"}
        assert it.values() == ["m0", "m0,m1,m2", "m1", "m2"]

    lab(story)


def test_a_resource_begins_to_read_an_attribute(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(2)}))
        before = await ids(it)
        await complete(it, await it.update({"g": group(2)}, outputs={"all": out("g", "output")}))
        assert await outputs(it) == {"all": ["m0", "m1"]}
        assert await ids(it) == before

    lab(story)


def test_names_that_were_removed_are_not_used_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(3)}, outputs={"removed": out("g", "removed_rsrc_list")}))
        third = (await ids(it))["2"]
        removing: dict[str, Any] = {"removal_policies": [{"resource_list": ["0"]}]}
        await complete(it, await it.update({"g": group(3, **removing)}, outputs={"removed": out("g", "removed_rsrc_list")}))
        assert it.values() == ["m1", "m2", "m3"]
        assert await outputs(it) == {"removed": ["0"]}
        # By reference too, as numbers; unknown names are ignored.
        removing = {"removal_policies": [{"resource_list": [third, "nobody", 1]}]}
        await complete(it, await it.update({"g": group(2, **removing)}, outputs={"removed": out("g", "removed_rsrc_list")}))
        assert await outputs(it) == {"removed": ["0", "1", "2"]}
        assert it.values() == ["m3", "m4"]
        afresh: dict[str, Any] = {"removal_policies": [{"resource_list": [3]}], "removal_policies_mode": "update"}
        await complete(it, await it.update({"g": group(2, **afresh)}))
        assert it.values() == ["m0", "m1"]

    lab(story)


def test_members_that_are_stacks_themselves(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        wanted = {"all": out("g", "out"), "one": out("g", "resource.1.out"), "deep": out("g", "resource.0.resource.inner")}
        answer = await it.create({"g": group(2, of="leaf.yaml")}, files={"leaf.yaml": LEAF}, outputs=wanted)
        await complete(it, answer)
        found = await outputs(it)
        assert (found["all"], found["one"]) == (["m0", "m1"], "m1")
        assert found["deep"] in it.objects()
        await complete(it, await it.delete())
        assert it.objects() == {}

    lab(story)


def test_a_group_of_groups(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        inner = {"count": 2, "index_var": "%inner%", "resource_def": {
            "type": "OS::Heat::TestResource", "properties": {"value": "%index%-%inner%"}}}
        outer = {"type": "OS::Heat::ResourceGroup", "properties": {"count": 2, "resource_def": {
            "type": "OS::Heat::ResourceGroup", "properties": inner}}}
        await complete(it, await it.create({"g": outer}, outputs={"all": out("g", "output")}))
        assert it.values() == ["0-0", "0-1", "1-0", "1-1"]
        assert await outputs(it) == {"all": [["0-0", "0-1"], ["1-0", "1-1"]]}

    lab(story)


def test_created_in_batches(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"batch_create": {"max_batch_size": 2, "pause_time": 0.05}}
        await complete(it, await it.create({"g": group(5, policy=policy)}))
        assert await batches(it) == [{"0", "1"}, {"2", "3"}, {"4"}]
        assert it.values() == ["m0", "m1", "m2", "m3", "m4"]

    lab(story)


def test_updated_in_batches(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"rolling_update": {"max_batch_size": 2, "pause_time": 0.05}}
        await complete(it, await it.create({"g": group(5, policy=policy)}))
        await complete(it, await it.update({"g": group(5, "new%index%", policy=policy)}))
        assert (await batches(it))[1:] == [{"3", "4"}, {"1", "2"}, {"0"}], "the highest first"
        assert it.values() == ["new0", "new1", "new2", "new3", "new4"]

    lab(story)


def test_enough_members_stay_in_service(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"rolling_update": {"max_batch_size": 2, "min_in_service": 3}}
        await complete(it, await it.create({"g": group(3, policy=policy)}))
        await complete(it, await it.update({"g": group(3, "new%index%", policy=policy)}))
        assert it.values() == ["new0", "new1", "new2"]
        history = [one["resource_name"] for one in await it.api.events.list(await inside(it), last=1000)
                   if one["resource_status"] == "CREATE_COMPLETE" and one["resource_name"].isdigit()]
        assert {"3", "4"} <= set(history), "two more for a while, so that three are left alone"

    lab(story)


def test_a_smaller_group_of_other_members(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"rolling_update": {"max_batch_size": 1}}
        await complete(it, await it.create({"g": group(4, policy=policy)}))
        await complete(it, await it.update({"g": group(2, "new%index%", policy=policy)}))
        assert it.values() == ["new0", "new1"]
        await complete(it, await it.update({"g": group(4, "newer%index%", policy=policy)}))
        assert it.values() == ["newer0", "newer1", "newer2", "newer3"]

    lab(story)


def test_pauses_longer_than_there_is_time(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"batch_create": {"max_batch_size": 1, "pause_time": 3000}}
        answer = await it.create({"g": group(3, policy=policy)}, timeout_s=3600)
        assert answer["stack_status_reason"].endswith(
            "ValueError: resources.g: The current update policy will result in stack update timeout.")

    lab(story)


def test_a_newer_update_overtakes_a_rolling_one(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"rolling_update": {"max_batch_size": 1, "pause_time": 1000}}
        await complete(it, await it.create({"g": group(3, policy=policy)}))
        await it.api.stacks.update("s", it.request({"g": group(3, "slow", policy=policy)}))

        async def begun() -> bool:
            return "slow" in it.values()

        await it.until(begun)
        await complete(it, await it.update({"g": group(3, "fast")}))
        assert it.values() == ["fast"] * 3

    lab(story)


def test_a_member_fails(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        answer = await it.create({"g": group(2, own={"fail": True})})
        assert answer["stack_status"] == "CREATE_FAILED"
        assert "ValueError: resources.g.resources[" in answer["stack_status_reason"]
        await complete(it, await it.update({"g": group(2)}))
        assert it.values() == ["m0", "m1"]

    lab(story)


def test_too_many_are_refused_before_anything_is_made(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError) as refused:
            await it.create({"g": group(10**9)})
        assert refused.value.kind == "RequestLimitExceeded"
        with pytest.raises(errors.UserError):
            await it.create({"g": group({"get_param": "n"})}, parameters={"n": {"type": "number", "default": 10**9}})
        assert await it.api.stacks.list() == []
        # A number that is not known beforehand.
        late = {"v": {"type": "OS::Heat::Value", "properties": {"value": 10**9}}, "g": group({"get_attr": ["v", "value"]})}
        answer = await it.create(late)
        assert answer["stack_status"] == "CREATE_FAILED"
        assert "Maximum resources per stack exceeded" in answer["stack_status_reason"]

    lab(story)


def test_too_many_in_the_whole_tree_are_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        inner = group(10_000)["properties"]
        outer = {"type": "OS::Heat::ResourceGroup", "properties": {
            "count": 10_000, "resource_def": {"type": "OS::Heat::ResourceGroup", "properties": inner}}}
        with pytest.raises(errors.UserError) as refused:
            await it.create({"g": outer})
        assert refused.value.kind == "RequestLimitExceeded"
        # A small text that stands for many stacks is no work either.
        files = {f"{n}.yaml": yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": {
            f"r{m}": {"type": f"{n + 1}.yaml" if n < 4 else "OS::Heat::None"} for m in range(100)}}) for n in range(5)}
        with pytest.raises(errors.UserError) as refused:
            await it.create({"top": {"type": "0.yaml"}}, files=files)
        assert refused.value.kind == "RequestLimitExceeded"
        assert await it.api.stacks.list() == []

    lab(story)


def test_a_bad_definition_of_members_is_told_before_anything_is_made(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError) as refused:
            await it.create({"ok": resource(), "g": group(2, of="OS::Heat::Nope")})
        assert str(refused.value) == "The Resource Type (OS::Heat::Nope) could not be found."
        with pytest.raises(errors.UserError) as refused:
            await it.create({"ok": resource(), "g": group(2, own={"nope": 1})})
        assert str(refused.value) == (
            "Property error: resources.g<nested_stack>.resources[0].properties: Unknown Property nope")
        # As in Heat: a group of none is not looked at.
        await complete(it, await it.create({"g": group(0, of="OS::Heat::Nope")}))

    lab(story)


def test_what_looks_like_a_function_of_a_later_version_is_data(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        tree = {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "tree"}}}
        made = {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": tree}}
        data = {"x": {"if": ["unknown", 1, 2]}}
        await complete(it, await it.create({"g": made}, parameters={"tree": {"type": "json", "default": data}},
                                           outputs={"all": out("g", "value")}))
        assert await outputs(it) == {"all": [data]}

    lab(story)


def test_a_rollback_reaches_the_members(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(2, "old")}))
        answer = await it.update({"g": group(4, "new", own={"fail": True})}, disable_rollback=False)
        assert answer["stack_status"] == "ROLLBACK_COMPLETE", answer["stack_status_reason"]
        assert it.values() == ["old", "old"]

    lab(story)


def test_suspend_resume_and_check_reach_the_members(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": group(2)}, outputs={"all": out("g", "output")}))
        for word in ("SUSPEND", "RESUME", "CHECK"):
            await complete(it, await it.end(await it.act(word.lower())))
            members = await it.api.resources.list(await inside(it))
            assert {one["resource_status"] for one in members} == {f"{word}_COMPLETE"}
        # What was done to the stack inside has not made it forget what it is.
        await complete(it, await it.update({"g": group(3)}, outputs={"all": out("g", "output")}))
        assert await outputs(it) == {"all": ["m0", "m1", "m2"]}

    lab(story)


def test_batches_go_on_in_another_process(tmp_path: Path) -> None:
    policy = {"batch_create": {"max_batch_size": 1, "pause_time": 1}}

    async def first() -> None:
        async with _lab(tmp_path) as it:
            await it.api.stacks.create("s", it.request({"g": group(3, policy=policy)}))

            async def pausing() -> bool:
                return it.values() == ["m0"] and "pausing" in (await it.api.resources.list("s"))[0]["waits_for"]

            await it.until(pausing)

    async def second() -> None:
        async with _lab(tmp_path) as it:
            stack = await it.api.stacks.show("s")
            assert stack["status"] == "IN_PROGRESS"
            await complete(it, await it.end(Accepted(stack["id"], stack["operation_id"], 1)))
            assert await batches(it) == [{"0"}, {"1"}, {"2"}]
            assert it.values() == ["m0", "m1", "m2"]

    asyncio.run(first())
    asyncio.run(second())


def test_cancelled_between_two_batches(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        policy = {"batch_create": {"max_batch_size": 1, "pause_time": 1000}}
        accepted = await it.api.stacks.create("s", it.request({"g": group(3, policy=policy)}))

        async def pausing() -> bool:
            return it.values() == ["m0"] and "pausing" in (await it.api.resources.list("s"))[0]["waits_for"]

        await it.until(pausing)
        await it.api.stacks.cancel("s", rollback=False)
        assert (await it.end(accepted))["stack_status"] == "CREATE_FAILED"
        assert it.values() == ["m0"]
        await complete(it, await it.update({"g": group(3)}))
        assert it.values() == ["m0", "m1", "m2"]

    lab(story)
