"""Chains of resources, and groups that grow and shrink."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from tests.engine.conftest import Lab, Tell, resource
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
    for one in await it.api.events.list(await inside(it), last=1000):
        found.setdefault(one["operation_id"], 0)
        done = one["resource_status"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")
        found[one["operation_id"]] += done and one["resource_type"] == "OS::Heat::TestResource"
    return list(found.values())


def test_a_chain_is_made_one_after_the_other(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        made = chain("OS::Heat::TestResource", "OS::Heat::TestResource", resource_properties={"value": "v"})
        wanted = {"refs": out("g", "refs"), "all": out("g", "output"), "map": out("g", "attributes", "output"),
                  "one": out("g", "resource.1.output"), "ref": out("g", "resource.0")}
        await complete(it, await it.create({"g": made}, outputs=wanted))
        physical = await ids(it)
        assert await outputs(it) == {"refs": [physical["0"], physical["1"]], "all": ["v", "v"], "ref": physical["0"],
                                     "map": {"0": "v", "1": "v"}, "one": "v"}
        order = [one["resource_name"] for one in await it.api.events.list(await inside(it), last=100)
                 if one["resource_status"] == "CREATE_COMPLETE" and one["resource_name"].isdigit()]
        assert order == ["0", "1"]
        assert await it.api.resources.edges(await inside(it)) == [("0", "1")]
        await complete(it, await it.update({"g": chain("OS::Heat::TestResource")}))
        assert it.values() == ["test_string"]

    lab(story)


def test_a_chain_all_at_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": chain("OS::Heat::TestResource", "OS::Heat::Value", concurrent=True,
                                                       resource_properties={"value": "v"})}))
        assert await it.api.resources.edges(await inside(it)) == []
        with pytest.raises(errors.UserError, match=r"OS::Heat::Nope"):
            await it.update({"g": chain("OS::Heat::Nope")})

    lab(story)


def test_a_scaling_group_and_what_can_be_read_of_it(lab: Tell) -> None:
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


def test_the_oldest_go_first(lab: Tell) -> None:
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


def test_sizes_that_do_not_fit(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match="MinSize can not be greater than MaxSize"):
            await it.create({"g": scaling(low=3, high=2)})
        with pytest.raises(errors.UserError, match="DesiredCapacity must be between MinSize and MaxSize"):
            await it.create({"g": scaling(desired_capacity=9)})
        with pytest.raises(errors.UserError) as refused:
            await it.create({"g": scaling(low=10**9, high=10**9)})
        assert refused.value.kind == "RequestLimitExceeded"

    lab(story)


def test_an_update_leaves_the_size_alone_within_the_bounds(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(low=2, high=6, desired_capacity=4)}))
        before = await ids(it)
        await complete(it, await it.update({"g": scaling(low=2, high=3)}))
        assert (await ids(it)).items() < before.items()
        assert len(await ids(it)) == 3

    lab(story)


def test_members_are_updated_in_batches(lab: Tell) -> None:
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


def test_failed_members_go_before_all_others(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(desired_capacity=2)}))
        old = await ids(it)
        answer = await it.update({"g": scaling(desired_capacity=3, own={"fail": True})})
        assert answer["stack_status"] == "UPDATE_FAILED"
        await complete(it, await it.update({"g": scaling(desired_capacity=2)}))
        assert it.values() == ["x", "x"]
        assert len((await ids(it)).keys() & old.keys()) >= 1

    lab(story)


def policy(kind: str, amount: float, **more: Any) -> dict[str, Any]:
    return {"type": "OS::Heat::ScalingPolicy", "properties": {
        "auto_scaling_group_id": {"get_resource": "g"}, "adjustment_type": kind, "scaling_adjustment": amount, **more}}


async def signal(it: Lab, name: str, **more: Any) -> int:
    """Signal a policy, and wait for what comes of it: the size of the group."""
    await it.api.signals.send("s", name, **more)

    async def at_rest() -> bool:
        return bool((await it.api.stacks.show(await inside(it)))["status"] != "IN_PROGRESS")

    await it.until(at_rest)
    return len(it.objects())


async def reasons(it: Lab) -> list[str]:
    return [one["resource_status_reason"] for one in await it.api.events.list("s", last=100)
            if one["resource_status"].startswith("SIGNAL")]


def test_signals_scale(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"g": scaling(low=1, high=5, desired_capacity=2), "up": policy("change_in_capacity", 2),
                     "down": policy("change_in_capacity", -1), "exact": policy("exact_capacity", 1),
                     "double": policy("percent_change_in_capacity", 100),
                     "little": policy("percent_change_in_capacity", 10, min_adjustment_step=2)}
        wanted = {"size": out("g", "current_size"), "refs": out("g", "refs")}
        await complete(it, await it.create(resources, outputs=wanted))
        first = await ids(it)
        assert await signal(it, "up") == 4
        assert first.items() < (await ids(it)).items()
        assert (await outputs(it))["size"] == 4, "outputs show the group as it is"
        assert sorted((await outputs(it))["refs"]) == sorted(it.objects())
        assert await signal(it, "down") == 3
        assert len((await ids(it)).items() & first.items()) == 1, "the oldest goes"
        assert await signal(it, "double") == 5
        assert await signal(it, "up") == 5
        assert "not scaled: the group has 5 members" in (await reasons(it))[-1]
        assert await signal(it, "exact") == 1
        assert await signal(it, "little") == 3
        await complete(it, await it.delete())
        assert it.objects() == {}

    lab(story)


def test_the_same_signal_scales_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(), "up": policy("change_in_capacity", 1)}))
        assert await signal(it, "up", signal_id="a") == 2
        assert await signal(it, "up", signal_id="a") == 2
        assert await signal(it, "up", signal_id="b") == 3

    lab(story)


def test_a_policy_that_goes_while_it_is_signalled_to_is_not_found(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(), "up": policy("change_in_capacity", 1)}))
        scale = it.api.signals._scaler.scale

        async def too_late(signal: Any) -> None:
            await complete(it, await it.update({"g": scaling()}))
            await scale(signal)

        monkeypatch.setattr(it.api.signals._scaler, "scale", too_late)
        with pytest.raises(errors.NotFound, match=r"The Resource \(up\) could not be found in Stack s"):
            await it.api.signals.send("s", "up")
        assert len(it.objects()) == 1

    lab(story)


def test_nothing_is_scaled_while_the_group_cools_down(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"g": scaling(), "up": policy("change_in_capacity", 1, cooldown=1000),
                     "other": policy("change_in_capacity", 1)}
        await complete(it, await it.create(resources))
        assert await signal(it, "up") == 2
        assert await signal(it, "other") == 2
        assert "cooling down" in (await reasons(it))[-1]

    lab(story)


def test_a_group_that_was_just_made_cools_down(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(cooldown=1000), "up": policy("change_in_capacity", 1)}))
        assert await signal(it, "up") == 1
        assert "cooling down" in (await reasons(it))[-1]

    lab(story)


def test_an_update_keeps_what_scaling_did_and_tells_dependants(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        reader = {"type": "OS::Heat::Value", "properties": {"value": {"get_attr": ["g", "current_size"]}}}
        resources = {"g": scaling(), "up": policy("change_in_capacity", 2), "v": reader}
        wanted = {"v": out("v", "value")}
        await complete(it, await it.create(resources, outputs=wanted))
        assert await signal(it, "up") == 3
        assert await outputs(it) == {"v": 1}, "as in Heat: nobody updates dependants because of a signal"
        await complete(it, await it.update({**resources, "more": resource()}, outputs=wanted))
        assert await outputs(it) == {"v": 3}
        assert len(it.objects()) == 4
        # A change of the group's own is one: the size that the template wants is taken up.
        await complete(it, await it.update({**resources, "g": scaling(desired_capacity=2)}, outputs=wanted))
        assert await outputs(it) == {"v": 2}

    lab(story)


def test_signals_while_the_group_is_being_changed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        resources = {"g": scaling(), "up": policy("change_in_capacity", 1)}
        await complete(it, await it.create(resources))
        await it.api.stacks.update("s", it.request({**resources, "g": scaling("slow", own={"wait_secs": 1})}))

        async def begun() -> bool:
            return await it.status("g") == "UPDATE_IN_PROGRESS"

        await it.until(begun)
        await it.api.signals.send("s", "up")
        assert "being changed" in (await reasons(it))[-1]
        await it.end(await it.api.stacks.update("s", it.request(resources)))
        assert await signal(it, "up") == 2

    lab(story)


def test_a_policy_that_says_too_much(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match="min_adjustment_step property should only be specified for"):
            await it.create({"g": scaling(), "p": policy("exact_capacity", 1, min_adjustment_step=1)})
        await complete(it, await it.create({"g": scaling(), "p": policy("exact_capacity", 1), "lost": {
            "type": "OS::Heat::ScalingPolicy", "properties": {
                "auto_scaling_group_id": "nobody", "adjustment_type": "exact_capacity", "scaling_adjustment": 1}}}))
        with pytest.raises(errors.NotFound, match='Alarm lost could not find scaling group named "nobody"'):
            await it.api.signals.send("s", "lost")

    lab(story)


def test_no_signals_while_suspended(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await complete(it, await it.create({"g": scaling(), "up": policy("change_in_capacity", 1)}))
        await it.end(await it.api.stacks.suspend("s"))
        with pytest.raises(errors.UserError, match="Signal resource during SUSPEND is not supported"):
            await it.api.signals.send("s", "up")
        await complete(it, await it.end(await it.api.stacks.resume("s")))
        assert await signal(it, "up") == 2

    lab(story)
