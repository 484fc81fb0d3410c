"""Overlapping operations: an update during an update, a delete during a create, rollback, cancel, timeouts, conflicts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from isotherm import errors
from tests.engine.conftest import Lab, Tell, resource


def slow(value: str = "x", seconds: float = 0.4, **more: Any) -> Any:
    return resource(value, wait_secs=seconds, **more)


@pytest.mark.ledger("S2.6", "S2.13")
def test_the_newest_update_wins(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": slow("1"), "b": slow("1", needs=["a"])}))
        await it.until(lambda: _is(it, "a", "CREATE_IN_PROGRESS"))
        accepted = await it.api.stacks.update("s", it.request({"a": resource("2"), "c": resource("3", needs=["a"])}))
        stack = await it.end(accepted)
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert stack["operation_id"] == accepted.operation_id
        assert it.values() == ["2", "3"]
        history = await it.history("a")
        assert history.index("CREATE_COMPLETE") < history.index("UPDATE_IN_PROGRESS"), "what was begun was finished first"
        assert await it.history("b") == [], "the older operation started nothing more"

    lab(story)


@pytest.mark.ledger("S2.6", "S2.13")
def test_a_newer_update_waits_only_with_what_depends_on_what_is_under_way(lab: Tell) -> None:
    """The older update of `a` never ends: `b` and the inner stack that read it wait, and `c` and `d` do not."""
    leaf = json.dumps({"heat_template_version": "2021-04-16", "parameters": {"value": {"type": "string"}},
                       "resources": {"r": resource({"get_param": "value"})}})

    def reading(name: str) -> dict[str, Any]:
        return {"type": "leaf.yaml", "properties": {"value": {"get_attr": [name, "output"]}}}

    async def story(it: Lab) -> None:
        before = {"a": resource("1"), "b": resource("1", needs=["a"]), "c": resource("1"), "d": resource("1", needs=["c"]),
                  "inner": reading("a"), "other": reading("c")}
        await it.create(before, files={"leaf.yaml": leaf})
        endless = {**before, "a": resource("2", action_wait_secs={"update": -1})}
        await it.api.stacks.update("s", it.request(endless, files={"leaf.yaml": leaf}))
        await it.until(lambda: _is(it, "a", "UPDATE_IN_PROGRESS"))
        after = {**before, "b": resource("3", needs=["a"]), "c": resource("3"), "d": resource("3", needs=["c"])}
        await it.api.stacks.update("s", it.request(after, files={"leaf.yaml": leaf}))

        async def is_done() -> bool:
            return it.values() == ["1", "1", "2", "3", "3", "3"]

        await it.until(is_done)
        assert [await it.status(name) for name in ("a", "b", "c", "d", "inner")] == [
            "UPDATE_IN_PROGRESS", "CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE", "CREATE_COMPLETE"]

    lab(story)


@pytest.mark.ledger("S2.10")
def test_each_operation_has_an_id_of_its_own(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        ids = {(await it.api.stacks.create("s", it.request({"a": slow()}))).operation_id}
        for number in range(5):
            ids.add((await it.api.stacks.update("s", it.request({"a": slow(str(number))}))).operation_id)
        assert len(ids) == 6
        stack = await it.end(await it.api.stacks.update("s", it.request({"a": resource("last")})))
        assert stack["generation"] == 7
        assert it.values() == ["last"]

    lab(story)


def test_of_two_updates_at_the_same_moment_one_gets_a_conflict(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("0")})
        both = asyncio.Barrier(2)
        desire = it.api.stacks._acceptor.desire

        async def together(*arguments: Any, **named: Any) -> Any:
            # Both have read the stack: the one that is accepted second was decided on an old state.
            answer = await desire(*arguments, **named)
            await both.wait()
            return answer

        monkeypatch.setattr(it.api.stacks._acceptor, "desire", together)
        asked = [it.api.stacks.update("s", it.request({"a": resource(str(number))})) for number in range(2)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        [won] = [one for one in answers if not isinstance(one, BaseException)]
        assert [isinstance(one, errors.Conflict) for one in answers].count(True) == 1
        await it.end(won)
        assert it.values() == [str(answers.index(won))]

    lab(story)


def test_delete_is_accepted_while_creating(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": slow(), "b": slow(needs=["a"])}))
        await it.until(lambda: _is(it, "a", "CREATE_IN_PROGRESS"))
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_an_update_is_accepted_while_deleting_and_changes_the_deletion_policy(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stuck = resource("kept", action_wait_secs={"delete": 3600})
        await it.create({"a": stuck, "b": resource(needs=["a"])})
        await it.api.stacks.delete("s")
        await it.until(lambda: _is(it, "a", "DELETE_IN_PROGRESS"))
        stack = await it.update({"a": {**stuck, "deletion_policy": "retain"}})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.values() == ["kept", "kept"], "the one whose deletion had begun, and the one that took its place"

    lab(story)


@pytest.mark.ledger("S2.7")
def test_a_failure_rolls_back_to_the_last_complete_state(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("1", needs=["a"])})
        before = await it.physical()
        stack = await it.update({"a": resource("2"), "c": resource("bad", fail=True, needs=["a"])}, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["1", "1"]
        assert await it.physical() == before

    lab(story)


@pytest.mark.ledger("S2.14")
def test_a_rollback_takes_up_the_old_version_again(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1", update_replace_value="1"), "b": resource("1", needs=["a"])})
        before = await it.physical()
        stack = await it.update(
            {"a": resource("2", update_replace_value="2"), "b": resource("1", fail=True, needs=["a"])},
            disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert (await it.physical())["a"] == before["a"], "the very object, not another one like it"
        assert (await it.history("a")).count("CREATE_COMPLETE") == 2
        assert it.values() == ["1", "1"]

    lab(story)


@pytest.mark.ledger("S2.14")
def test_a_rollback_updates_dependants_that_used_the_replacement(lab: Tell) -> None:
    """Their own definitions never changed, and what they use does, twice."""

    async def story(it: Lab) -> None:
        template = {"a": resource("1", update_replace_value="1"), "b": resource({"get_resource": "a"})}
        await it.create(template)
        before, values = await it.physical(), it.values()
        bad = {**template, "a": resource("2", update_replace_value="2"), "c": resource(fail=True, needs=["b"])}
        stack = await it.update(bad, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert "UPDATE_COMPLETE" in await it.history("b"), "it had moved"
        assert (await it.physical(), it.values()) == (before, values)

    lab(story)


def test_two_failures_in_a_row_roll_back_to_what_was_complete(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        failed = await it.update({"a": resource("2"), "b": resource(fail=True)})
        assert failed["stack_status"] == "UPDATE_FAILED"
        stack = await it.update({"a": resource("3"), "b": resource(fail=True)}, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["1"]

    lab(story)


def test_a_failed_create_rolls_back_to_nothing(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": resource(), "b": resource(fail=True, needs=["a"])}, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.objects() == {}
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"

    lab(story)


def test_a_failed_branch_does_not_stop_the_others(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        template = {"bad": resource(fail=True), "after_bad": resource(needs=["bad"]),
                    "good": slow(seconds=0.2), "after_good": resource("done", needs=["good"])}
        stack = await it.create(template)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"] == (
            "Resource CREATE failed: ValueError: resources.bad: Test Resource failed bad")
        assert it.values() == ["done", "x"]
        assert await it.history("after_bad") == []
        template["bad"] = resource("mended")
        assert (await it.update(template))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["done", "mended", "x", "x"]

    lab(story)


def test_rollback_can_be_asked_for(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        await it.api.stacks.update("s", it.request({"a": slow("2", 3), "b": resource()}))
        await it.until(lambda: _is(it, "b", "CREATE_COMPLETE"))
        stack = await it.update({"a": resource("2", wait_secs=0), "b": resource()})
        assert it.values() == ["2", "x"]
        stack = await it.update({"a": resource("3", fail=True)})
        assert stack["stack_status"] == "UPDATE_FAILED"
        stack = await it.end(await it.api.stacks.rollback("s"))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["2", "x"]

    lab(story)


def test_cancel_without_rollback_stays_where_it_is(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"a": slow(seconds=0.5), "b": resource(needs=["a"])}))
        await it.until(lambda: _is(it, "a", "CREATE_IN_PROGRESS"))
        stack = await it.end(await it.api.stacks.cancel("s", rollback=False))
        assert (stack["stack_status"], stack["stack_status_reason"]) == ("CREATE_FAILED", "Stack CREATE cancelled")
        assert await it.status("a") == "CREATE_COMPLETE", "what was begun was finished"
        assert await it.history("b") == []
        with pytest.raises(errors.UserError):
            await it.api.stacks.cancel("s")

    lab(story)


def test_cancel_with_rollback_goes_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        request = it.request({"a": resource("1"), "b": slow(seconds=0.3), "c": resource(needs=["b"])})
        await it.api.stacks.update("s", request)
        await it.until(lambda: _is(it, "b", "CREATE_IN_PROGRESS"))
        stack = await it.end(await it.api.stacks.cancel("s"))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["1"]

    lab(story)


def test_a_timeout_comes_by_the_clock(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": resource(action_wait_secs={"create": -1}), "b": resource(needs=["a"])}, timeout_s=2)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"].startswith("Timed out: still under way: a")
        assert await it.status("a") == "CREATE_FAILED"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S2.17")
def test_without_rollback_what_is_unwanted_goes_first(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"old": slow(seconds=0.1)})
        await it.update({"new": resource()}, disable_rollback=True)
        order = await _order(it)
        assert order.index(("old", "DELETE_COMPLETE")) < order.index(("new", "CREATE_IN_PROGRESS"))

    lab(story)


@pytest.mark.ledger("S2.17")
def test_with_rollback_what_is_unwanted_stays_until_the_end(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"old": resource()})
        await it.update({"new": slow(seconds=0.1)}, disable_rollback=False)
        order = await _order(it)
        assert order.index(("new", "CREATE_COMPLETE")) < order.index(("old", "DELETE_IN_PROGRESS"))

    lab(story)


@pytest.mark.ledger("S2.18")
def test_a_rollback_deletes_first_and_updates_then(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        await it.update({"a": resource("2"), "extra": resource(), "bad": resource(fail=True, needs=["a", "extra"])},
                        disable_rollback=False)
        order = await _order(it)
        rolled_back = order[order.index(("", "ROLLBACK_IN_PROGRESS")):]
        assert rolled_back.index(("extra", "DELETE_COMPLETE")) < rolled_back.index(("a", "UPDATE_IN_PROGRESS"))

    lab(story)


def test_check_tells_what_is_gone_and_an_update_mends_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("2")})
        assert (await it.end(await it.api.stacks.check("s")))["stack_status"] == "CHECK_COMPLETE"
        gone = (await it.physical())["a"]
        await it.take_away(gone)
        stack = await it.end(await it.api.stacks.check("s"))
        assert stack["stack_status"] == "CHECK_FAILED"
        assert await it.status("a") == "CHECK_FAILED"
        assert await it.status("b") == "CHECK_COMPLETE"
        assert (await it.update({"a": resource("1"), "b": resource("2")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2"]

    lab(story)


async def _is(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


async def _order(it: Lab) -> list[tuple[str, str]]:
    return [(one["resource_name"], one["resource_status"]) for one in await it.api.events.list("s", last=1000)]
