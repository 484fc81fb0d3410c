"""Chains of resources, and groups that grow and shrink."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from tests.engine.conftest import Lab, resource
from tests.engine.test_groups import complete, ids, inside, out, outputs


def chain(*types: str, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::ResourceChain", "properties": {"resources": list(types), **more}}


def scaling(value: str = "x", low: int = 1, high: int = 5, **more: Any) -> dict[str, Any]:
    own = more.pop("own", {})
    return {"type": "OS::Heat::AutoScalingGroup",
            "properties": {"resource": resource(value, **own), "min_size": low, "max_size": high, **more}}


async def changes(it: Lab) -> list[int]:
    """How many members each operation on the group has made or changed."""
    found: dict[str, int] = {}
    for one in await it.api.events(await inside(it), last=1000):
        found.setdefault(one["operation_id"], 0)
        done = one["resource_status"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")
        found[one["operation_id"]] += done and one["resource_type"] == "OS::Heat::TestResource"
    return list(found.values())


def test_a_chain_is_made_one_after_the_other(lab):
    async def story(it: Lab) -> None:
        made = chain("OS::Heat::TestResource", "OS::Heat::TestResource", resource_properties={"value": "v"})
        wanted = {"refs": out("g", "refs"), "all": out("g", "output"), "map": out("g", "attributes", "output"),
                  "one": out("g", "resource.1.output"), "ref": out("g", "resource.0")}
        await complete(it, await it.create({"g": made}, outputs=wanted))
        physical = await ids(it)
        assert await outputs(it) == {"refs": [physical["0"], physical["1"]], "all": ["v", "v"], "ref": physical["0"],
                                     "map": {"0": "v", "1": "v"}, "one": "v"}
        order = [one["resource_name"] for one in await it.api.events(await inside(it), last=100)
                 if one["resource_status"] == "CREATE_COMPLETE" and one["resource_name"].isdigit()]
        assert order == ["0", "1"]
        assert await it.api.edges(await inside(it)) == [("0", "1")]
        await complete(it, await it.update({"g": chain("OS::Heat::TestResource")}))
        assert it.values() == ["test_string"]

    lab(story)


def test_a_chain_all_at_once(lab):
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": chain("OS::Heat::TestResource", "OS::Heat::Value", concurrent=True,
                                                       resource_properties={"value": "v"})}))
        assert await it.api.edges(await inside(it)) == []
        with pytest.raises(errors.UserError, match=r"OS::Heat::Nope"):
            await it.update({"g": chain("OS::Heat::Nope")})

    lab(story)


def test_a_scaling_group_and_what_can_be_read_of_it(lab):
    async def story(it: Lab) -> None:
        wanted = {"size": out("g", "current_size"), "map": out("g", "outputs", "output"), "refs": out("g", "refs"),
                  "list": out("g", "outputs_list", "output"), "refs_map": out("g", "refs_map"),
                  "first": out("g", "resource.0.output"), "ref": out("g", "resource.0"), "none": out("g", "resource.9")}
        await complete(it, await it.create({"g": scaling("v", 2)}, outputs=wanted))
        found, physical = await outputs(it), await ids(it)
        assert found["size"] == 2
        assert found["map"] == dict.fromkeys(physical, "v")
        assert found["list"] == ["v", "v"]
        assert found["refs_map"] == physical
        assert sorted(found["refs"]) == sorted(physical.values())
        assert found["first"] == "v"
        assert found["ref"] == found["refs"][0]
        assert found["none"] is None

    lab(story)


def test_the_oldest_go_first(lab):
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(desired_capacity=2)}))
        old = await ids(it)
        await complete(it, await it.update({"g": scaling(desired_capacity=4)}))
        more = await ids(it)
        assert old.items() < more.items()
        await complete(it, await it.update({"g": scaling(desired_capacity=2)}))
        assert (await ids(it)).items() == more.items() - old.items()
        await complete(it, await it.update({"g": scaling(desired_capacity=3)}))
        assert not (await ids(it)).keys() & old.keys(), "names are not used twice"

    lab(story)


def test_sizes_that_do_not_fit(lab):
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match="MinSize can not be greater than MaxSize"):
            await it.create({"g": scaling(low=3, high=2)})
        with pytest.raises(errors.UserError, match="DesiredCapacity must be between MinSize and MaxSize"):
            await it.create({"g": scaling(desired_capacity=9)})
        with pytest.raises(errors.UserError) as refused:
            await it.create({"g": scaling(low=10**9, high=10**9)})
        assert refused.value.kind == "RequestLimitExceeded"

    lab(story)


def test_an_update_leaves_the_size_alone_within_the_bounds(lab):
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(low=2, high=6, desired_capacity=4)}))
        before = await ids(it)
        await complete(it, await it.update({"g": scaling(low=2, high=3)}))
        assert (await ids(it)).items() < before.items()
        assert len(await ids(it)) == 3

    lab(story)


def test_members_are_updated_in_batches(lab):
    async def story(it: Lab) -> None:
        rolling = {"rolling_updates": {"max_batch_size": 2, "pause_time": 0.05}}
        await complete(it, await it.create({"g": scaling("old", 5, 6, **rolling)}))
        before = await ids(it)
        await complete(it, await it.update({"g": scaling("new", 5, 6, **rolling)}))
        assert await changes(it) == [5, 2, 2, 1]
        assert it.values() == ["new"] * 5
        assert await ids(it) == before
        rolling = {"rolling_updates": {"max_batch_size": 2, "min_in_service": 5}}
        await complete(it, await it.update({"g": scaling("newer", 5, 6, **rolling)}))
        assert it.values() == ["newer"] * 5

    lab(story)


def test_failed_members_go_before_all_others(lab):
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(desired_capacity=2)}))
        old = await ids(it)
        answer = await it.update({"g": scaling(desired_capacity=3, own={"fail": True})})
        assert answer["stack_status"] == "UPDATE_FAILED"
        await complete(it, await it.update({"g": scaling(desired_capacity=2)}))
        assert it.values() == ["x", "x"]
        assert len((await ids(it)).keys() & old.keys()) >= 1

    lab(story)
