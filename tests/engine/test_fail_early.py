"""A node that fails before a handler of its type has run has a FAILED resource, and an event of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from isotherm.engine import contexts
from isotherm.engine.steps import hooks
from tests.engine.conftest import Lab, Tell, resource

UNRESOLVED = {"type": "OS::Heat::TestResource", "properties": {"get_attr": ["a", "output"]}}
NESTED = yaml.safe_dump({"heat_template_version": "2021-04-16", "resources": {"x": resource("1"), "y": resource("2")}})


async def shown(it: Lab, name: str) -> tuple[str, str]:
    [found] = [one for one in await it.api.resources.list("s") if one["resource_name"] == name]
    return found["resource_status"], found["resource_status_reason"]


async def failures(it: Lab, name: str) -> list[tuple[str, str]]:
    return [(one["resource_status"], one["resource_status_reason"]) for one in await it.api.events.list("s", last=1000)
            if one["resource_name"] == name and one["resource_status"].endswith("FAILED")]


async def assert_none_in_progress(it: Lab) -> None:
    states = {one["resource_name"]: one["resource_status"] for one in await it.api.resources.list("s")}
    assert not [one for one in states.values() if one.endswith("IN_PROGRESS")], states


def test_properties_that_do_not_resolve_while_it_is_made(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"a": resource("1"), "b": UNRESOLVED, "c": resource(needs=["b"])})
        assert stack["stack_status"] == "CREATE_FAILED"
        status, reason = await shown(it, "b")
        assert (status, [(status, reason)]) == ("CREATE_FAILED", await failures(it, "b"))
        assert "properties type must be object" in reason
        assert await it.status("c") == "INIT_COMPLETE", "it was not begun, and has not failed"
        assert (await it.update({"a": resource("1"), "b": resource("2")}))["status"] == "COMPLETE"
        assert it.values() == ["1", "2"]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_what_was_never_begun_is_deleted_without_a_type(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        b = {"type": "OS::Heat::RandomString", "properties": {"length": {"get_attr": ["a", "output"]}}}
        await it.create({"a": resource("no number"), "b": b})
        assert await it.status("b") == "CREATE_FAILED"
        monkeypatch.delitem(it.engine.types.types, "OS::Heat::RandomString")
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_properties_that_do_not_resolve_while_it_is_changed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        good = {"a": resource("1"), "b": resource("2")}
        await it.create(good)
        before = await it.physical()
        stack = await it.update({"a": resource("1"), "b": UNRESOLVED})
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert (await shown(it, "b"))[0] == "UPDATE_FAILED"
        assert len(await failures(it, "b")) == 1
        assert (await it.update(good))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() == before, "the object was never touched: no reason to make it anew"
        assert await shown(it, "b") == ("UPDATE_COMPLETE", "")
        await it.update({"a": resource("1"), "b": UNRESOLVED})
        await it.update({"a": resource("1"), "b": resource("3")})
        assert (await it.physical(), it.values()) == (before, ["1", "3"])

    lab(story)


def test_what_had_failed_stays_what_failed(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        good = {"a": resource("1"), "b": resource("2")}
        await it.create(good)
        before = await it.physical()
        await it.take_away(before["b"])
        await it.end(await it.api.stacks.check("s"))
        await it.update({"a": resource("1"), "b": UNRESOLVED})
        status, reason = await shown(it, "b")
        assert status == "CHECK_FAILED", "it is still gone, and made anew by the next update"
        assert "properties type must be object" in reason
        assert (await failures(it, "b"))[-1] == ("UPDATE_FAILED", reason)
        assert (await it.update(good))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2"]

    lab(story)


def test_a_type_that_is_gone(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        template = {"a": resource("1"), "b": {"type": "OS::Heat::RandomString"}}
        await it.create(template)
        monkeypatch.delitem(it.engine.types.types, "OS::Heat::RandomString")
        stack = await it.delete()
        assert stack["stack_status"] == "DELETE_FAILED"
        status, reason = await shown(it, "b")
        assert (status, [(status, reason)]) == ("DELETE_FAILED", await failures(it, "b"))
        assert "OS::Heat::RandomString" in reason
        stack = await it.end(await it.api.stacks.check("s"))
        assert stack["stack_status"] == "CHECK_FAILED"
        await assert_none_in_progress(it)
        monkeypatch.undo()
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.parametrize("action", ["create", "update", "delete", "check"])
def test_a_context_that_cannot_be_built(lab: Tell, monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    """An injected fault: what stands between the engine and a type raises."""
    made = contexts.LeasedReality

    def broken(*_: object) -> None:
        raise RuntimeError("no context")

    async def story(it: Lab) -> None:
        if action != "create":
            await it.create({"a": resource("1")})
        monkeypatch.setattr(contexts, "LeasedReality", broken)
        asked: dict[str, Callable[[], Any]] = {
            "create": lambda: it.create({"a": resource("1")}), "update": lambda: it.update({"a": resource("2")}),
            "delete": it.delete, "check": lambda: _checked(it)}
        stack = await asked[action]()
        told = f"{action.upper()}_FAILED"
        assert stack["stack_status"] == told
        assert await shown(it, "a") == (told, "RuntimeError: resources.a: no context")
        assert await failures(it, "a") == [(told, "RuntimeError: resources.a: no context")]
        monkeypatch.setattr(contexts, "LeasedReality", made)
        assert (await it.update({"a": resource("3")}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["3"]

    lab(story)


def _in_the_engine(name: str, text: str) -> str:
    """Return the reason of a failure that neither the user nor the type has caused."""
    return (f"Error: resources.{name}: the engine failed before it called the resource type ({text}). "
            "The log of the engine says where.")


async def _checked(it: Lab) -> dict[str, object]:
    return await it.end(await it.api.stacks.check("s"))


@pytest.mark.parametrize("action", ["create", "delete"])
def test_a_hook_that_fails(lab: Tell, monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    """An injected fault: whether the node has to pause cannot be said."""

    def broken(*_: object) -> None:
        raise RuntimeError("no hook")

    async def story(it: Lab) -> None:
        if action == "delete":
            await it.create({"a": resource("1")})
        with monkeypatch.context() as patched:
            patched.setattr(hooks, "before", broken)
            stack = await (it.create({"a": resource("1")}) if action == "create" else it.delete())
        told = (f"{action.upper()}_FAILED", _in_the_engine("a", "no hook"))
        assert stack["stack_status"] == told[0]
        assert await shown(it, "a") == told
        assert await failures(it, "a") == [told]
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_what_the_clock_stops_has_an_event(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        # On a busy machine, the time may be over before the first resource has begun: then it gets more.
        for timeout_s in (0.5, 4.0, 30.0):
            stack = await it.create({"a": resource(wait_secs=60), "b": resource(needs=["a"])}, timeout_s=timeout_s)
            assert stack["stack_status"] == "CREATE_FAILED"
            if await it.status("a") != "INIT_COMPLETE":
                break
            await it.delete()
        told = ("CREATE_FAILED", "CREATE aborted (Timed out)")
        assert await shown(it, "a") == told
        assert await failures(it, "a") == [told]
        assert await it.status("b") == "INIT_COMPLETE"

    lab(story)


def test_a_failed_check_inside_is_mended_inside(lab: Tell) -> None:
    """As in Heat: the resource and the stacks around it say CHECK_FAILED, and the next update leaves the rest alone."""

    async def story(it: Lab) -> None:
        asked = it.request({"n": {"type": "inner.yaml"}}, files={"inner.yaml": NESTED})
        await it.end(await it.api.stacks.create("s", asked))
        before, objects = await it.physical(), it.objects()
        [gone] = [id_ for id_, one in objects.items() if one["value"] == "1"]
        await it.take_away(gone)
        stack = await _checked(it)
        assert stack["stack_status"] == "CHECK_FAILED"
        assert await it.status("n") == "CHECK_FAILED"
        assert (await it.api.stacks.show(before["n"]))["stack_status"] == "CHECK_FAILED"
        inner = {one["resource_name"]: one["resource_status"] for one in await it.api.resources.list(before["n"])}
        assert inner == {"x": "CHECK_FAILED", "y": "CHECK_COMPLETE"}
        assert (await it.end(await it.api.stacks.update("s", asked)))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() == before
        assert it.values() == ["1", "2"]
        assert set(objects) - {gone} < set(it.objects())

    lab(story)


def test_a_nested_stack_that_is_marked_unhealthy_is_replaced(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        asked = it.request({"n": {"type": "inner.yaml"}}, files={"inner.yaml": NESTED})
        await it.end(await it.api.stacks.create("s", asked))
        before, objects = await it.physical(), it.objects()
        await it.api.signals.mark_unhealthy("s", "n")
        assert (await it.end(await it.api.stacks.update("s", asked)))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.physical() != before
        assert set(objects).isdisjoint(it.objects())

    lab(story)
