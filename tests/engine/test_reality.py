"""Updates that observe reality before they decide: drift is corrected, and nothing else is changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Patch
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import contract
from isotherm.resources.heat.test_resource import TestResource
from isotherm.states import ObservationResult
from isotherm.store.records import Observation
from tests import observed
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.local_stage import file

REF = {"get_resource": "a"}
CHAIN = {"a": resource("1"), "b": resource(REF), "c": resource({"get_attr": ["b", "output"]})}


async def converge(it: Lab, resources: dict[str, Any], **options: Any) -> dict[str, Any]:
    return await it.update(resources, converge=True, **options)


async def seen(it: Lab) -> dict[str, Observation]:
    stack = await it.api.stacks.show("s")
    return await it.engine.store.read(lambda connection: observed.of_stack(connection, stack["id"]))


def options(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "isotherm.conf").write_text(f"[DEFAULT]\n{text}\n")


@pytest.mark.ledger("S1.2", "S1.3")
def test_what_was_changed_behind_our_back_is_put_right(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(CHAIN)
        before = await it.physical()
        await it.change(before["a"], {"value": "meddled"})
        assert (await it.update(CHAIN))["stack_status"] == "UPDATE_COMPLETE"
        assert it.objects()[before["a"]]["value"] == "meddled", "without looking, nobody knows"
        stack = await converge(it, CHAIN)
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.objects()[before["a"]]["value"] == "1"
        assert await it.physical() == before, "in place"
        assert await it.history("b") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"], "nothing else was touched"

    lab(story)


@pytest.mark.ledger("S1.3")
def test_what_is_gone_is_made_again_and_its_dependants_hear_of_it(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(CHAIN)
        before = await it.physical()
        await it.take_away(before["a"])
        assert (await converge(it, CHAIN))["stack_status"] == "UPDATE_COMPLETE"
        after = await it.physical()
        assert after["a"] != before["a"]
        assert (after["b"], after["c"]) == (before["b"], before["c"])
        assert it.objects() == {after["a"]: {"value": "1"}, after["b"]: {"value": after["a"]},
                                after["c"]: {"value": after["a"]}}
        assert len(await it.api.resources.list("s")) == 3

    lab(story)
@pytest.mark.ledger("S1.3")
def test_what_cannot_be_put_right_in_place_is_replaced(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        wanted = {"a": resource("1", update_replace=True), "b": resource(REF)}
        await it.create(wanted)
        before = await it.physical()
        await it.change(before["a"], {"value": "meddled"})
        assert (await converge(it, wanted))["stack_status"] == "UPDATE_COMPLETE"
        after = await it.physical()
        assert after["a"] != before["a"]
        assert it.objects() == {after["a"]: {"value": "1"}, before["b"]: {"value": after["a"]}}

    lab(story)


@pytest.mark.ledger("S1.2")
def test_what_is_so_already_is_not_changed(lab: Tell) -> None:
    """The template wants a change that was made by hand: only the row is updated."""

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource({"get_attr": ["a", "output"]})})
        before = await it.physical()
        await it.change(before["a"], {"value": "2"})
        await converge(it, {"a": resource("2"), "b": resource({"get_attr": ["a", "output"]})})
        assert await it.history("a") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"], "it was left alone"
        assert it.objects()[before["b"]]["value"] == "2", "and those who read it are told"
        assert not (await seen(it))["a"].has_drifted, "it is what is applied now"
        await it.update({"a": resource("1"), "b": resource({"get_attr": ["a", "output"]})})
        assert it.values() == ["1", "1"], "the row had learnt it: to go back is a change"

    lab(story)


@pytest.mark.ledger("S1.4")
def test_the_configuration_asks_for_it(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, "observe_on_update = true")

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        before = await it.physical()
        await it.change(before["a"], {"value": "meddled"})
        await it.update({"a": resource("1")})
        assert it.values() == ["1"]
        await it.take_away(before["a"])
        await it.end(await it.api.stacks.update("s", Patch()))
        assert it.values() == ["1"]

    lab(story)


def test_what_was_seen_is_kept_with_its_time(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create(CHAIN)
        assert await seen(it) == {}, "nobody has looked"
        await converge(it, CHAIN)
        first = await seen(it)
        assert {name: one.result for name, one in first.items()} == dict.fromkeys("abc", ObservationResult.SEEN)
        assert json.loads(first["a"].live or "") == {"value": "1"}
        assert not any(one.has_drifted for one in first.values())
        await converge(it, CHAIN)
        assert (await seen(it))["a"].seen_at > first["a"].seen_at

    lab(story)


def blind(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], Any]) -> None:
    async def look(self: Any) -> Any:
        return answer()

    monkeypatch.setattr(TestResource, "handle_get_reality", look)


def busy() -> Any:
    raise errors.Temporary("the service is down", 0.01)


@pytest.mark.parametrize("answer", [busy, lambda: contract.Unseen("the service is down")])
def test_what_cannot_be_seen_fails_clearly(lab: Tell, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        blind(monkeypatch, answer)
        stack = await converge(it, {"a": resource("2")})
        assert stack["stack_status"] == "UPDATE_FAILED"
        assert "It could not be looked at: the service is down" in stack["stack_status_reason"]
        assert it.values() == ["1"], "unknown is not gone, and nothing follows from it"
        told = (await seen(it))["a"]
        assert (told.result, told.reason, told.has_drifted) == (ObservationResult.UNSEEN, "the service is down", False)

    lab(story)


def test_what_cannot_be_seen_is_ignored_by_option_but_not_silently(
    lab: Tell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options(tmp_path, "observe_failure = ignore")

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("1")})
        blind(monkeypatch, busy)
        stack = await converge(it, {"a": resource("2"), "b": resource("1")})
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2"]
        told = [(one["resource_name"], one["resource_status_reason"]) for one in await it.api.events.list("s", last=100)]
        for name in "ab":
            assert (name, "It could not be looked at: the service is down; it is taken for what was last applied") in told
        assert (await seen(it))["b"].result is ObservationResult.UNSEEN

    lab(story)


def test_a_busy_service_is_asked_again(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> Any:
    asked: list[int] = []

    def answer() -> Any:
        asked.append(1)
        return busy() if len(asked) == 1 else contract.Seen({"value": "1"})

    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        blind(monkeypatch, answer)
        assert (await converge(it, {"a": resource("1")}))["stack_status"] == "UPDATE_COMPLETE"
        assert len(asked) == 2

    lab(story)


def test_why_it_cannot_be_seen_tells_no_secrets(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    def tell() -> Any:
        raise ValueError("cannot log in with hush-4711")

    async def story(it: Lab) -> None:
        hidden = {"p": {"type": "string", "hidden": True}}
        wanted = {"a": resource({"get_param": "p"})}
        given = {"parameters": hidden, "environment": {"parameters": {"p": "hush-4711"}}}
        await it.create(wanted, **given)
        blind(monkeypatch, tell)
        stack = await converge(it, wanted, **given)
        assert stack["stack_status"] == "UPDATE_FAILED"
        events = await it.api.events.list("s", last=100)
        assert "hush-4711" not in str((stack, events, await it.api.resources.list("s"), await seen(it)))
        assert "cannot log in" in str(events)

    lab(story)


def test_the_wish_to_look_is_kept_with_the_operation(tmp_path: Path, lab: Tell) -> Any:
    """The process that accepted it is gone when another engine runs it; and a newer operation has its own option."""
    wanted = {"a": resource("1")}

    async def made(it: Lab) -> None:
        await it.create(wanted)
        await it.change((await it.physical())["a"], {"value": "meddled"})

    async def accepted() -> None:
        engine = Embedded(tmp_path)
        try:
            await engine.orchestrator.stacks.update("s", Lab.request(wanted, converge=True))
        finally:
            engine.close()

    async def driven(it: Lab) -> None:
        await it.until(lambda: ended(it))
        assert it.values() == ["1"]
        await it.change((await it.physical())["a"], {"value": "meddled"})
        await it.update(wanted)
        assert it.values() == ["meddled"]

    async def ended(it: Lab) -> bool:
        return bool((await it.api.stacks.show("s"))["status"] == "COMPLETE")

    lab(made)
    asyncio.run(accepted())
    lab(driven)


def test_a_rollback_looks_too_and_takes_up_nothing_that_is_gone(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        old = {"a": resource("1"), "b": resource("1", needs=["a"])}
        await it.create(old)
        before = await it.physical()
        await it.take_away(before["a"])
        new = {"a": resource("2"), "b": resource("2", needs=["a"], fail=True)}
        stack = await converge(it, new, disable_rollback=False)
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        after = await it.physical()
        assert after["a"] != before["a"]
        assert it.objects() == {after["a"]: {"value": "1"}, after["b"]: {"value": "1"}}

    lab(story)


def test_stacks_inside_look_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        inner = it.request({"x": resource("1")}).template
        wanted = {"g": {"type": "OS::Heat::ResourceGroup", "properties": {"count": 1, "resource_def": resource("2")}},
                  "n": {"type": "inner.yaml"}}
        await it.create(wanted, files={"inner.yaml": inner})
        for id_ in it.objects():
            await it.change(id_, {"value": "meddled"})
        assert (await converge(it, wanted, files={"inner.yaml": inner}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "2"]

    lab(story)
@pytest.mark.ledger("S1.2", "S1.3")
def test_a_real_file_is_put_right_or_written_again(lab: Tell, base: Path) -> None:
    async def story(it: Lab) -> None:
        wanted = {"f": file("a.txt", "hello"), "g": file("b.txt", "hello")}
        await it.create(wanted)
        (base / "a.txt").write_text("meddled")
        (base / "b.txt").unlink()
        assert (await converge(it, wanted))["stack_status"] == "UPDATE_COMPLETE"
        assert [(base / name).read_text() for name in ("a.txt", "b.txt")] == ["hello", "hello"]
        (base / "a.txt").chmod(0o777)
        assert (await converge(it, wanted))["stack_status"] == "UPDATE_COMPLETE"
        assert (base / "a.txt").stat().st_mode & 0o777 == 0o644
        before = (base / "a.txt").stat().st_mtime_ns
        await converge(it, wanted)
        assert (base / "a.txt").stat().st_mtime_ns == before, "nothing differs: nothing is written"
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert not list(base.glob("*.txt"))

    lab(story)


def test_what_others_read_is_read_anew(lab: Tell) -> None:
    """It was published while it had drifted, and corrected by hand: only the readers have to be updated."""

    async def story(it: Lab) -> None:
        reader = resource({"get_attr": ["a", "output"]})
        await it.create({"a": resource("1")})
        made = await it.physical()
        await it.change(made["a"], {"value": "meddled"})
        await it.update({"a": resource("1"), "b": reader})
        assert it.values() == ["meddled", "meddled"]
        await it.change(made["a"], {"value": "1"})
        assert (await converge(it, {"a": resource("1"), "b": reader}))["stack_status"] == "UPDATE_COMPLETE"
        assert it.values() == ["1", "1"]

    lab(story)
