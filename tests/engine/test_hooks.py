"""Hooks, unhealthy resources, and handles that each update makes anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from tests.engine.conftest import Lab, Tell, resource


def hooked(*hooks: str, name: str = "a") -> dict[str, Any]:
    return {"environment": {"resource_registry": {"resources": {name: {"hooks": list(hooks)}}}}}


async def paused(it: Lab, hook: str, stack: str = "s") -> None:
    async def waits() -> bool:
        return hook in [one["hook"] for one in await it.api.signals.hooks(stack)]

    await it.until(waits)


async def told(it: Lab, name: str = "a") -> list[tuple[str, str]]:
    return [(one["resource_status"], one["resource_status_reason"]) for one in await it.api.events.list("s", last=1000)
            if one["resource_name"] == name]


@pytest.mark.parametrize("hook", ["pre-create", "post-create"])
def test_a_create_pauses(lab: Tell, hook: Any) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource("1"), "b": resource("2", needs=["a"])}
        accepted = await it.api.stacks.create("s", it.request(template, **hooked(hook)))
        await paused(it, hook)
        status = "INIT_COMPLETE" if hook == "pre-create" else "CREATE_COMPLETE"
        assert await it.status("a") == status
        assert it.values() == ([] if hook == "pre-create" else ["1"])
        found = next(one for one in await it.api.resources.list("s") if one["resource_name"] == "a")
        assert found["waits_for"] == f"CREATE paused until Hook {hook} is cleared"
        await it.api.signals.send("s", "a", {"unset_hook": hook})
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert it.values() == ["1", "2"]
        assert (status, f"CREATE paused until Hook {hook} is cleared") in await told(it)
        assert (status, f"Hook {hook} is cleared") in await told(it)
        assert (await it.history("a")).count("CREATE_IN_PROGRESS") == 1

    lab(story)


def test_all_hooks_of_a_create_in_turn(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        request = it.request({"a": resource()}, **hooked("pre-create", "post-create", name="*"))
        accepted = await it.api.stacks.create("s", request)
        for hook in ("pre-create", "post-create"):
            await paused(it, hook)
            await it.api.signals.clear_hook("s", "a", hook)
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert await it.api.signals.hooks("s") == []

    lab(story)


@pytest.mark.parametrize("value", ["1", "2"])
def test_every_update_pauses_whether_it_changes_something_or_not(lab: Tell, value: Any) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        accepted = await it.api.stacks.update("s", it.request({"a": resource(value)}, **hooked("pre-update")))
        await paused(it, "pre-update")
        assert it.values() == ["1"]
        await it.api.signals.send("s", "a", {"unset_hook": "pre-update"})
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == [value]
        assert ("CREATE_COMPLETE", "UPDATE paused until Hook pre-update is cleared") in await told(it)
        # And the next one pauses again.
        accepted = await it.api.stacks.update("s", it.request({"a": resource(value)}, **hooked("pre-update")))
        await paused(it, "pre-update")
        await it.api.signals.send("s", "a", {"unset_hook": "pre-update"})
        await it.end(accepted)

    lab(story)


def test_dependants_are_updated_after_the_pause(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        def template(value: str) -> dict[str, Any]:
            return {"a": resource(value), "b": resource({"get_attr": ["a", "output"]})}

        await it.create(template("1"))
        accepted = await it.api.stacks.update("s", it.request(template("2"), **hooked("post-update")))
        await paused(it, "post-update")
        assert it.values() == ["1", "2"]
        assert await it.status("a") == "UPDATE_COMPLETE"
        await it.api.signals.clear_hook("s", "a", "post-update")
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["2", "2"]

    lab(story)


def test_an_update_that_changes_nothing_does_not_pause_after_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")}, **hooked("post-update", "pre-create", name="b"))
        stack = await it.update({"a": resource("1"), "b": resource()}, **hooked("post-update", "pre-create", name="*"))
        assert stack["stack_status"] == "UPDATE_COMPLETE", "and hooks of create are for stacks that are created"

    lab(story)


@pytest.mark.parametrize("hook", ["pre-delete", "post-delete"])
def test_a_delete_pauses(lab: Tell, hook: Any) -> None:
    async def story(it: Lab) -> None:
        await it.create({"b": resource("2"), "a": resource("1", needs=["b"])}, **hooked(hook))
        accepted = await it.api.stacks.delete("s")
        await paused(it, hook)
        assert it.values() == (["1", "2"] if hook == "pre-delete" else ["2"])
        assert await it.status("a") == ("CREATE_COMPLETE" if hook == "pre-delete" else "DELETE_COMPLETE")
        await it.api.signals.send("s", "a", {"unset_hook": hook})
        assert (await it.end(accepted))["stack_status"] == "DELETE_COMPLETE"
        assert it.values() == []

    lab(story)


def test_a_newer_operation_does_not_wait_for_the_hook_of_an_older_one(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": resource("1")}, **hooked("pre-create")))
        await paused(it, "pre-create")
        assert (await it.update({"a": resource("2")}))["stack_status"] == "UPDATE_COMPLETE"
        with pytest.raises(errors.UserError, match='The "pre-create" hook is not defined on'):
            await it.api.signals.clear_hook("s", "a", "pre-create")
        await it.update({"a": resource("2")}, **hooked("post-delete"))
        await it.api.stacks.delete("s")
        await paused(it, "post-delete")
        assert (await it.update({"a": resource("3")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["3"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_a_pause_outlives_its_worker(lab: Tell, tmp_path: Path) -> None:
    async def first() -> None:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        async with engine.driving():
            await it.api.stacks.create("s", it.request({"a": resource()}, **hooked("pre-create")))
            await paused(it, "pre-create")
        engine.close()

    async def story(it: Lab) -> None:
        # This worker works, and leaves the paused resource alone.
        await it.end(await it.api.stacks.create("other", it.request({"b": resource()})))
        assert await it.status("a") == "INIT_COMPLETE"
        await it.api.signals.clear_hook("s", "a", "pre-create")
        await it.until(lambda: _is(it, "a", "CREATE_COMPLETE"))
        assert [reason for _, reason in await told(it)].count("CREATE paused until Hook pre-create is cleared") == 1

    asyncio.run(first())
    lab(story)


def test_hooks_that_are_not_there_cannot_be_cleared(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource()})
        with pytest.raises(errors.UserError, match='Invalid hook type "pre-lunch" for') as caught:
            await it.api.signals.send("s", "a", {"unset_hook": "pre-lunch"})
        assert caught.value.kind == "InvalidBreakPointHook"
        with pytest.raises(errors.UserError, match=r'The "pre-update" hook is not defined on TestResource "a" \[s-a-'):
            await it.api.signals.send("s", "a", {"unset_hook": "pre-update"})
        with pytest.raises(errors.NotFound):
            await it.api.signals.send("s", "b", {"unset_hook": "pre-update"})

    lab(story)


def test_cancelling_ends_a_pause(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource(), "b": resource(needs=["a"])}
        accepted = await it.api.stacks.create("s", it.request(template, **hooked("pre-create")))
        await paused(it, "pre-create")
        await it.api.stacks.cancel("s", rollback=False)
        assert (await it.end(accepted))["stack_status"] == "CREATE_FAILED"
        assert it.values() == []
        accepted = await it.api.stacks.update("s", it.request({"a": resource("1")}))
        await it.end(accepted)
        accepted = await it.api.stacks.update("s", it.request({"a": resource("2")}, **hooked("post-update")))
        await paused(it, "post-update")
        await it.api.stacks.cancel("s", rollback=False)
        assert (await it.end(accepted))["stack_status"] == "UPDATE_FAILED"
        assert await it.status("a") == "UPDATE_COMPLETE"

    lab(story)


def test_a_pause_times_out_with_its_operation(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": resource()}, timeout_s=1.0, **hooked("pre-create"))
        assert stack["stack_status_reason"] == (
            "Timed out: still under way: a (CREATE paused until Hook pre-create is cleared)")

    lab(story)


async def _is(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


def test_an_unhealthy_resource_is_replaced_by_the_next_update(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("1")})
        before = await it.physical()
        await it.api.signals.mark_unhealthy("s", "a", reason="it smells")
        assert await told(it)
        assert (await told(it))[-1] == ("CHECK_FAILED", "it smells")
        await it.api.signals.mark_unhealthy("s", before["b"])
        assert (await told(it, "b"))[-1] == ("CHECK_FAILED", "state changed by resource_mark_unhealthy api")
        await it.api.signals.mark_unhealthy("s", "b", unhealthy=False)
        assert await it.status("b") == "CHECK_COMPLETE"
        await it.update({"a": resource("1"), "b": resource("1")})
        after = await it.physical()
        assert after["a"] != before["a"]
        assert after["b"] == before["b"]
        assert len(it.objects()) == 2

    lab(story)


def test_health_is_no_question_while_something_is_done(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": resource(wait_secs=30)}))
        await it.until(lambda: _is(it, "a", "CREATE_IN_PROGRESS"))
        with pytest.raises(errors.Conflict) as caught:
            await it.api.signals.mark_unhealthy("s", "a")
        assert caught.value.kind == "ActionInProgress"
        with pytest.raises(errors.NotFound):
            await it.api.signals.mark_unhealthy("s", "b")

    lab(story)


def test_what_works_stays_as_it_is_when_told_that_it_works(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource()})
        await it.api.signals.mark_unhealthy("s", "a", unhealthy=False)
        assert await it.status("a") == "CREATE_COMPLETE"

    lab(story)


def test_each_update_makes_the_update_handle_anew(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {
            "handle": {"type": "OS::Heat::UpdateWaitConditionHandle"},
            "condition": {"type": "OS::Heat::WaitCondition",
                          "properties": {"handle": {"get_resource": "handle"}, "timeout": 60}}}
        signal = {"Status": "SUCCESS", "Reason": "done", "Data": "d", "UniqueId": "1"}
        accepted = await it.api.stacks.create("s", it.request(template))
        await it.until(lambda: _is(it, "condition", "CREATE_IN_PROGRESS"))
        with pytest.raises(errors.UserError, match="Metadata format invalid"):
            await it.api.signals.send("s", "handle", {"Status": "SUCCESS"})
        await it.api.signals.send("s", "handle", signal)
        await it.end(accepted)
        before = await it.physical()
        assert await it.api.resources.metadata("s", "handle") == {"1": {"Status": "SUCCESS", "Reason": "done", "Data": "d"}}
        accepted = await it.api.stacks.update("s", it.request(template))
        await it.until(lambda: _is(it, "condition", "CREATE_IN_PROGRESS"))
        assert await it.api.resources.metadata("s", "handle") == {}
        await it.api.signals.send("s", "handle", signal)
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
        after = await it.physical()
        assert after["handle"] != before["handle"]
        assert len(after) == 2

    lab(story)


def test_metadata_of_a_resource(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": {**resource(), "metadata": {"x": 1}}, "b": resource()})
        assert await it.api.resources.metadata("s", "a") == {"x": 1}
        assert await it.api.resources.metadata("s", "b") == {}

    lab(story)
