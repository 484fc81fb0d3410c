"""Signals: wait conditions and their handles, signalled before, during and after the wait, once and repeatedly."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.process.embedded import Embedded
from isotherm.store.signals import signals
from tests import patience
from tests.engine.conftest import Lab, Tell, resource

OUTPUTS = {"data": {"value": {"get_attr": ["condition", "data"]}}}


def waiting(count: int = 1, timeout: float = 60, **more: Any) -> dict[str, Any]:
    return {
        "handle": {"type": "OS::Heat::WaitConditionHandle"},
        "condition": {"type": "OS::Heat::WaitCondition",
                      "properties": {"handle": {"get_resource": "handle"}, "count": count, "timeout": timeout}},
        **more,
    }


async def is_(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


async def still_waits(it: Lab) -> None:
    """A signal wakes the condition, which finds that one signal is not enough."""
    async def is_waiting() -> bool:
        return await it.status("condition") == "CREATE_IN_PROGRESS"

    await patience.stays(is_waiting)


async def until_it_waits(it: Lab) -> None:
    async def waits() -> bool:
        return any(one["state"] == "WAITING" for one in await it.api.resources.list("s"))

    await it.until(waits)


async def outputs(it: Lab) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in await it.api.outputs.list("s")}


def test_the_stack_goes_on_when_the_signal_comes(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        request = it.request(waiting(after=resource(needs=["condition"])), outputs=OUTPUTS)
        accepted = await it.api.stacks.create("s", request)
        await until_it_waits(it)
        assert await it.history("after") == []
        await it.api.signals.send("s", "handle", {"id": "a", "status": "SUCCESS", "reason": "ready", "data": {"n": 1}})
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert json.loads((await outputs(it))["data"]) == {"a": {"n": 1}}
        assert await it.history("handle") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE", "SIGNAL_COMPLETE"]
        told = [one for one in await it.api.events.list("s", last=100) if one["resource_status"] == "SIGNAL_COMPLETE"]
        assert told[0]["resource_status_reason"] == "Signal: status:SUCCESS reason:ready"

    lab(story)


def test_what_the_stack_waits_for_is_shown(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request(waiting(count=2)))
        await until_it_waits(it)
        found = next(one for one in await it.api.resources.list("s") if one["resource_name"] == "condition")
        assert found["waits_for"] == "0 of 2 signals received"

    lab(story)


def test_signals_may_come_before_the_wait(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        slow = resource(needs=["handle"], wait_secs=0.3)
        template = waiting(count=3, slow=slow)
        template["condition"]["depends_on"] = "slow"
        accepted = await it.api.stacks.create("s", it.request(template))
        await it.until(lambda: is_(it, "handle", "CREATE_COMPLETE"))
        for _ in range(3):
            await it.api.signals.send("s", "handle")
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"

    lab(story)


def test_what_is_left_out_of_a_signal_is_filled_in(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=3), outputs=OUTPUTS))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle", None)
        await it.api.signals.send("s", "handle", {})
        await it.api.signals.send("s", "handle", {"data": "x"})
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert json.loads((await outputs(it))["data"]) == {"1": None, "2": None, "3": "x"}
        reasons = [one["resource_status_reason"] for one in await it.api.events.list("s", last=100)]
        assert "Signal: status:SUCCESS reason:Signal 2 received" in reasons

    lab(story)


def test_a_signal_with_the_same_id_counts_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=2), outputs=OUTPUTS))
        await until_it_waits(it)
        for number in range(3):
            await it.api.signals.send("s", "handle", {"id": "same", "data": number})
        await still_waits(it)
        await it.api.signals.send("s", "handle", {"id": "other"})
        await it.end(accepted)
        assert json.loads((await outputs(it))["data"]) == {"same": 2, "other": None}

    lab(story)


def test_a_request_that_is_sent_again_changes_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=2)))
        await until_it_waits(it)
        for _ in range(5):
            await it.api.signals.send("s", "handle", signal_id="request-1")
        await still_waits(it)
        assert (await it.history("handle")).count("SIGNAL_COMPLETE") == 1
        await it.api.signals.send("s", "handle", signal_id="request-2")
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"

    lab(story)


def test_a_failure_says_why(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=2)))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle", {"status": "FAILURE", "reason": "disk full"})
        stack = await it.end(accepted)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"] == (
            "Resource CREATE failed: WaitConditionFailure: resources.condition: disk full")
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_time_runs_out(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=2, timeout=1)))
        await it.until(lambda: is_(it, "handle", "CREATE_COMPLETE"))
        await it.api.signals.send("s", "handle", {"reason": "one"})
        stack = await it.end(accepted)
        assert stack["stack_status_reason"] == (
            "Resource CREATE failed: WaitConditionTimeout: resources.condition: 1 of 2 received - one")

    lab(story)


def test_many_signals_at_once(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=200)))
        await it.until(lambda: is_(it, "handle", "CREATE_COMPLETE"))
        await asyncio.gather(*(it.api.signals.send("s", "handle", {"data": number}) for number in range(200)))
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"

    lab(story)


@pytest.mark.parametrize("details", [{"status": "MAYBE"}, {"extra": 1}, "text", [1]])
def test_a_signal_in_another_form_is_refused(lab: Tell, details: Any) -> None:
    async def story(it: Lab) -> None:
        await it.create({"handle": waiting()["handle"]})
        with pytest.raises(errors.UserError, match="Metadata format invalid"):
            await it.api.signals.send("s", "handle", details)
        assert "SIGNAL_COMPLETE" not in await it.history("handle")

    lab(story)


def test_a_resource_that_takes_no_signals_refuses_them(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource()})
        with pytest.raises(errors.UserError, match=r"^signal is not supported for resource\.$") as caught:
            await it.api.signals.send("s", "a")
        assert caught.value.kind == "ResourceActionNotSupported"
        with pytest.raises(errors.NotFound, match=r"The Resource \(b\) could not be found"):
            await it.api.signals.send("s", "b")
        with pytest.raises(errors.NotFound):
            await it.api.signals.send("nothing", "a")

    lab(story)


def test_a_resource_that_is_not_made_yet_cannot_be_signalled(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"first": resource(wait_secs=30), "handle": {**waiting()["handle"], "depends_on": "first"}}
        await it.api.stacks.create("s", it.request(template))
        with pytest.raises(errors.NotFound) as caught:
            await it.api.signals.send("s", "handle")
        assert caught.value.kind == "ResourceNotAvailable"

    lab(story)


def test_signals_are_bounded(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await it.create({"handle": waiting()["handle"]})
        with pytest.raises(errors.UserError, match="at most") as caught:
            await it.api.signals.send("s", "handle", {"data": "x" * signals.SIGNAL_BYTES})
        assert caught.value.kind == "RequestLimitExceeded"
        deep: Any = []
        for _ in range(5000):
            deep = [deep]
        with pytest.raises(errors.UserError, match="deep"):
            await it.api.signals.send("s", "handle", {"data": deep})
        with pytest.raises(errors.UserError, match="too long"):
            await it.api.signals.send("s", "handle", {"id": "x" * 300})
        monkeypatch.setattr(signals, "KEYS", 2)
        await it.api.signals.send("s", "handle", {"id": "1"})
        await it.api.signals.send("s", "handle", {"id": "2"})
        with pytest.raises(errors.UserError, match="more signals than can be kept"):
            await it.api.signals.send("s", "handle", {"id": "3"})
        await it.api.signals.send("s", "handle", {"id": "2", "data": "again"})
        monkeypatch.setattr(signals, "TOTAL_BYTES", 200)
        with pytest.raises(errors.UserError, match="more signals than can be kept"):
            await it.api.signals.send("s", "handle", {"id": "2", "data": "x" * 200})

    lab(story)


def test_a_wait_is_taken_up_by_another_process(lab: Tell, tmp_path: Path) -> None:
    async def first() -> None:
        engine = Embedded(tmp_path)
        it = Lab(engine)
        async with engine.driving():
            await it.api.stacks.create("s", it.request(waiting(count=2)))
            await until_it_waits(it)
            await it.api.signals.send("s", "handle", {"id": "a"})
        engine.close()

    async def between() -> None:
        engine = Embedded(tmp_path)
        await engine.orchestrator.signals.send("s", "handle", {"id": "b"})
        engine.close()

    async def story(it: Lab) -> None:
        stack = await it.api.stacks.show("s")
        async with asyncio.timeout(30):
            while (stack := await it.api.stacks.show("s"))["status"] == "IN_PROGRESS":
                await asyncio.sleep(0.01)
        assert stack["stack_status"] == "CREATE_COMPLETE"

    asyncio.run(first())
    asyncio.run(between())
    lab(story)


def test_a_newer_update_does_not_wait_for_signals(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request(waiting()))
        await until_it_waits(it)
        stack = await it.end(await it.api.stacks.update("s", it.request({"a": resource("new")})))
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["new"]
        assert list(await it.physical()) == ["a"]

    lab(story)


def test_a_newer_update_changes_what_is_waited_for(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request(waiting(count=5)))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle")
        stack = await it.end(await it.api.stacks.update("s", it.request(waiting(count=1))))
        assert stack["stack_status"] == "UPDATE_COMPLETE", "five will never come"

    lab(story)


def test_a_newer_update_that_leaves_the_wait_alone_does_not_end_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request(waiting(count=1)))
        await until_it_waits(it)
        accepted = await it.api.stacks.update("s", it.request(waiting(count=1, more=resource("more"))))
        await it.until(lambda: is_(it, "more", "CREATE_COMPLETE"))
        await until_it_waits(it)
        assert await it.status("condition") == "CREATE_IN_PROGRESS"
        await it.api.signals.send("s", "handle")
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.history("condition") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


def test_a_deleted_stack_takes_no_signals(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request(waiting()))
        await until_it_waits(it)
        stack = await it.delete()
        with pytest.raises(errors.NotFound):
            await it.api.signals.send(stack["id"], "handle")

    lab(story)


def test_what_is_being_deleted_takes_no_signals(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"handle": waiting()["handle"], "a": resource(needs=["handle"], action_wait_secs={"delete": 30})})
        await it.api.stacks.delete("s")
        await it.until(lambda: is_(it, "a", "DELETE_IN_PROGRESS"))
        with pytest.raises(errors.UserError, match="Signal resource during DELETE is not supported"):
            await it.api.signals.send("s", "handle")

    lab(story)


def test_an_update_of_the_count_waits_for_the_rest(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request(waiting(count=1)))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle", {"id": "a"})
        await it.end(accepted)
        accepted = await it.api.stacks.update("s", it.request(waiting(count=2), outputs=OUTPUTS))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle", {"id": "b", "data": 1})
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"
        assert json.loads((await outputs(it))["data"]) == {"a": None, "b": 1}

    lab(story)


def test_what_is_no_handle_is_refused(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource(), "condition": {
            "type": "OS::Heat::WaitCondition", "properties": {"handle": {"get_resource": "a"}, "timeout": 5}}}
        stack = await it.create(template)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert "is not a valid wait condition handle." in stack["stack_status_reason"]

    lab(story)


def test_a_wait_condition_that_goes_takes_the_signals_along(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = waiting()
        accepted = await it.api.stacks.create("s", it.request(template))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle")
        await it.end(accepted)
        await it.update({"handle": template["handle"]})
        accepted = await it.api.stacks.update("s", it.request(template))
        await until_it_waits(it)
        await it.api.signals.send("s", "handle")
        assert (await it.end(accepted))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


def test_transports_that_need_a_cloud_say_so(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "ZAQAR_SIGNAL"}}}
        stack = await it.create(template)
        assert "signal_transport ZAQAR_SIGNAL needs a message queue, and there is none" in stack["stack_status_reason"]

    lab(story)


def test_a_handle_has_no_address_while_no_api_is_served(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        values = {name: {"value": {"get_attr": ["handle", name]}} for name in ("token", "endpoint", "curl_cli", "signal")}
        await it.create({"handle": waiting()["handle"]}, outputs=values)
        found = await outputs(it)
        assert found == {"token": None, "endpoint": None, "curl_cli": None, "signal": "null"}

    lab(story)
