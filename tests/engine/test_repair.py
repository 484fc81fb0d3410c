"""Repairs that fail, and repairs that the policy forbids: with real files and processes."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.observer.service import Observer
from tests import patience
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.local_stage import file, folder
from tests.engine.test_observer import OFTEN, SELDOM, _is, becomes, looked_again, observed, options, told, until

pytestmark = [pytest.mark.ledger("S1.5"), pytest.mark.usefixtures("base")]


def test_a_repair_that_fails_is_tried_again(lab: Tell, tmp_path: Path) -> None:
    """The obstacle disappears by itself, and the repair succeeds without a request."""
    options(tmp_path, observer_interval=0.2, observer_rate=0, observer_repair_limit=50)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file(content="right"), "other": file("b.txt")})
        async with observed(it, "repair"):
            await becomes(it, "config", "in_sync")
            path.unlink()
            path.mkdir()
            await until(lambda: _failed(it))
            path.rmdir()
            await until(_is(lambda: path.read_text() == "right"))
            await becomes(it, "config", "in_sync")
        assert (await it.api.stacks.show("s"))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.history("other") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


async def _failed(it: Lab) -> bool:
    return bool((await it.api.stacks.show("s"))["stack_status"] == "UPDATE_FAILED")


def test_a_repair_that_always_fails_is_given_up(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, observer_interval=0.1, observer_rate=0, observer_repair_limit=2)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        async with _in_vain(it, path):
            generation = (await it.api.stacks.show("s"))["generation"]

            async def is_left_alone() -> bool:
                return bool((await it.api.stacks.show("s"))["generation"] == generation == 3)

            await patience.stays(is_left_alone)  # twice, and no more
            assert "Repair given up: it was repaired 2 times within 600 seconds, and it fails" in await told(it, "config")

    lab(story)


def test_what_was_given_up_is_tried_again_after_a_pause(lab: Tell, tmp_path: Path) -> None:
    """Nothing is left to look at, since the last repair failed half-way: it is not forgotten all the same."""
    options(tmp_path, observer_interval=0.1, observer_rate=0, observer_repair_limit=2)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        async with _in_vain(it, path):
            await it.api.drift.set_watch("s", mode="paused")
            path.rmdir()
            await it.api.drift.set_watch("s", mode="active")
            await becomes(it, "config", "in_sync")
        assert path.read_text() == "right"
        assert (await it.api.stacks.show("s"))["stack_status"] == "UPDATE_COMPLETE"

    lab(story)


@contextlib.asynccontextmanager
async def _in_vain(it: Lab, path: Path) -> AsyncIterator[None]:
    """A file that is watched, and given up: something is in its way."""
    await it.create({"config": file(content="right")})
    async with observed(it, "repair"):
        await becomes(it, "config", "in_sync")
        path.unlink()
        path.mkdir()
        await until(lambda: _given_up(it))
        yield


async def _given_up(it: Lab) -> bool:
    return bool((await it.api.drift.show("s"))["given_up"] == ["config"])


def test_a_repair_is_not_rolled_back(lab: Tell, tmp_path: Path) -> None:
    """A repair restores the last state: there is no other state to return to. The option of updates stays unchanged."""
    options(tmp_path, observer_interval=0.1, observer_rate=0, observer_repair_limit=2)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file(content="right")}, disable_rollback=False)
        async with observed(it, "repair"):
            path.unlink()
            path.mkdir()
            await until(lambda: _given_up(it))
        stack = await it.api.stacks.show("s")
        assert (stack["stack_status"], stack["disable_rollback"]) == ("UPDATE_FAILED", False)
        found = await it.api.events.list("s", last=1000)
        assert not any("ROLLBACK" in one["resource_status"] for one in found)

    lab(story)


def test_a_suspended_resource_is_not_repaired(lab: Tell, tmp_path: Path) -> None:
    """A check after the suspend: the stack is CHECK_COMPLETE, and its resources are still suspended."""
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"d": folder(), "config": file("a.txt")})
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.check("s"))
        async with observed(it, "repair"):
            (base / "a.txt").unlink()

            async def is_left_alone() -> bool:
                return not (base / "a.txt").exists()

            await patience.stays(is_left_alone)
            assert await it.history("d") == await it.history("config")
            assert not any("RESUME" in one for one in await it.history("d"))
            await it.end(await it.api.stacks.resume("s"))
            await until(_is((base / "a.txt").exists))

    lab(story)


def test_a_suspended_resource_that_awaits_deletion_does_not_block_repairs(lab: Tell, tmp_path: Path) -> None:
    """An update that failed was to delete it; a resume leaves it as it is."""
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"left": file("left.txt"), "user": file("user.txt", needs=["left"]), "other": file("other.txt")})
        await it.end(await it.api.stacks.suspend("s"))
        await it.end(await it.api.stacks.check("s"))
        turned = {"bad": resource(fail=True), "user": file("user.txt", needs=["bad"]), "other": file("other.txt")}
        assert (await it.update(turned))["stack_status"] == "UPDATE_FAILED"
        assert (await it.end(await it.api.stacks.resume("s")))["stack_status"] == "RESUME_COMPLETE"
        assert (base / "left.txt").exists()
        async with observed(it, "repair"):
            (base / "other.txt").unlink()
            await until(_is((base / "other.txt").exists))

    lab(story)


def test_what_was_imported_is_reported_and_never_repaired(lab: Tell, tmp_path: Path) -> None:
    """An external object belongs to another owner, who has to repair it."""
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        base.mkdir(exist_ok=True)
        (base / "theirs").write_text("as they have it")
        await it.create({"ours": file("ours"), "theirs": {**file("theirs", "as they have it"), "external_id": "theirs"}})
        async with observed(it, "repair"):
            await becomes(it, "theirs", "in_sync")
            (base / "theirs").write_text("as they want it now")
            await becomes(it, "theirs", "drifted")
            (base / "ours").unlink()
            await until(_is((base / "ours").exists))
            assert (base / "theirs").read_text() == "as they want it now"
            (base / "theirs").unlink()
            await becomes(it, "theirs", "gone")
            assert not (base / "theirs").exists()

    lab(story)


@pytest.mark.parametrize("who", ["stack", "project", "resource"])
def test_what_is_paused_at_the_last_moment_is_not_repaired(
    lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: Any
) -> None:
    """Between the decision and the operation a user pauses the repairs."""
    options(tmp_path, **SELDOM)
    path = tmp_path / "local" / "a.txt"
    say: Callable[[Any], Any] = {"stack": lambda api: api.drift.set_watch("s", mode="maintenance"),
           "project": lambda api: api.drift.set_project_mode("paused"),
           "resource": lambda api: api.drift.set_resource_policy("s", "config", "report")}[who]

    async def story(it: Lab) -> None:
        repair = Observer._repair
        asked: list[Any] = []

        async def late(self: Any, *arguments: Any) -> None:
            if not asked:
                await say(it.api)
            asked.append(True)
            await repair(self, *arguments)

        monkeypatch.setattr(Observer, "_repair", late)
        await it.create({"config": file()})
        path.unlink()
        async with observed(it, "repair"):
            await until(_is(lambda: bool(asked)))

            async def is_left_alone() -> bool:
                return not path.exists()

            await patience.stays(is_left_alone)
        assert (path.exists(), (await it.api.stacks.show("s"))["generation"]) == (False, 1)

    lab(story)


def test_an_observer_waits_for_the_database(lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not answer when the observer begins, and when it looks."""
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        write = it.engine.store.write
        failed: list[Any] = []

        async def sometimes(unit: Any) -> Any:
            if len(failed) < 3:
                failed.append(unit)
                raise errors.Unavailable("the database does not answer")
            return await write(unit)

        async with _with(it, monkeypatch, sometimes):
            await becomes(it, "config", "in_sync")
            path.unlink()
            await becomes(it, "config", "gone")
        assert len(failed) == 3

    lab(story)


@contextlib.asynccontextmanager
async def _with(it: Lab, monkeypatch: pytest.MonkeyPatch, write: Any) -> Any:
    """Replace the writes of the observer; all others stay."""

    class Store:
        read = it.engine.store.read

    made = Observer.__init__

    def make(self: Any, name: str, ports: Any, *rest: Any) -> None:
        Store.write = staticmethod(write)  # type: ignore[attr-defined]
        made(self, name, dataclasses.replace(ports, store=Store()), *rest)

    monkeypatch.setattr(Observer, "__init__", make)
    async with observed(it):
        yield


REFUSED = "is protected from update by user alice. `isotherm unprotect s {}` lifts the protection."


@pytest.mark.parametrize("when", ["before it drifts", "at the last moment"])
def test_a_resource_that_may_not_change_is_reported_and_not_repaired(
    lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Its breaker stays as it is, and another resource is repaired beside it."""
    options(tmp_path, **OFTEN, observer_repair_limit=2)
    monkeypatch.setenv("LOGNAME", "alice")
    base, late = tmp_path / "local", when == "at the last moment"
    why = f"Resource config of stack s {REFUSED.format('config')}"

    async def story(it: Lab) -> None:
        repair = Observer._repair

        async def protect_and_repair(self: Any, *arguments: Any) -> None:
            if late:
                await it.api.protection.protect_resource("s", "config", ["all"])
            await repair(self, *arguments)

        monkeypatch.setattr(Observer, "_repair", protect_and_repair)
        await it.create({"config": file(), "other": file("b.txt")})
        if not late:
            await it.api.protection.protect_resource("s", "config", ["all"])
        async with observed(it, "repair"):
            (base / "a.txt").write_text("by hand")
            await becomes(it, "config", "drifted")
            await until(lambda: _shows(it, "config", why))
            (base / "b.txt").write_text("by hand")
            await until(_is(lambda: (base / "b.txt").read_text() == "hello"))
            await looked_again(it, 3)
            assert (base / "a.txt").read_text() == "by hand"
            stack = await it.api.stacks.show("s")
            assert (stack["stack_status"], stack["generation"]) == ("UPDATE_COMPLETE", 2), "one repair, of the other"
            shown = await it.api.drift.show_resource("s", "config")
            assert (shown["drift"], shown["repairs"], shown["given_up_since"]) == ("drifted", 0, None)
            assert await told(it, "config") == [f"Drift seen: content{'' if late else f'. Not repaired: {why}'}"]
            await it.api.protection.unprotect_resource("s", "config")
            monkeypatch.setattr(Observer, "_repair", repair)
            await until(_is(lambda: (base / "a.txt").read_text() == "hello"))
            await becomes(it, "config", "in_sync")
            await until(lambda: _shows(it, "config", ""))

    lab(story)


async def _shows(it: Lab, name: str, why: str) -> bool:
    return bool((await it.api.drift.show_resource("s", name))["not_repaired"] == why)


def test_a_resource_that_may_not_change_and_is_gone_is_made_again(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        await it.api.protection.protect_resource("s", "config", ["all"])
        async with observed(it, "repair"):
            path.unlink()
            await until(_is(path.exists))
            await becomes(it, "config", "in_sync")
        assert (await it.api.protection.show_resource("s", "config"))["protect"] == ["replace", "delete", "update"]

    lab(story)


def test_a_nested_stack_that_may_not_change_is_not_repaired(
    lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repair would be a change of the resource that holds it, also for an object that is gone."""
    options(tmp_path, **OFTEN, observer_repair_limit=2)
    monkeypatch.setenv("LOGNAME", "alice")
    base = tmp_path / "local"
    inner = "heat_template_version: 2021-04-16\nresources:\n  f: {type: Isotherm::Local::File, " \
            "properties: {path: a.txt, content: x}}\n"

    async def story(it: Lab) -> None:
        await it.create({"in": {"type": "inner.yaml"}, "config": file("b.txt")}, files={"inner.yaml": inner})
        nested = (await it.physical())["in"]
        await it.api.protection.protect_resource("s", "in", ["all"])
        async with observed(it, "repair"):
            (base / "a.txt").unlink()

            async def is_said() -> bool:
                shown = await it.api.drift.show_resource(nested, "f")
                return bool(shown["not_repaired"] == f"Resource in of stack s {REFUSED.format('in')}")

            await until(is_said)
            (base / "b.txt").unlink()
            await until(_is((base / "b.txt").exists))
            await looked_again(it, 3)
            assert not (base / "a.txt").exists()
            assert (await it.api.drift.show_resource(nested, "f"))["repairs"] == 0
            await it.api.protection.unprotect_resource("s", "in")
            await until(_is((base / "a.txt").exists))

    lab(story)


def test_what_is_nested_is_repaired_around_a_resource_that_may_not_change(
    lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repair of `g` observes the whole nested stack, and leaves the drifted `f` of it as it is."""
    options(tmp_path, **OFTEN, observer_repair_limit=2)
    monkeypatch.setenv("LOGNAME", "alice")
    base = tmp_path / "local"
    inner = "heat_template_version: 2021-04-16\nresources:\n" + "".join(
        f"  {name}: {{type: Isotherm::Local::File, properties: {{path: {name}.txt, content: x}}}}\n" for name in "fg")

    async def story(it: Lab) -> None:
        await it.create({"in": {"type": "inner.yaml"}, "config": file("c.txt")}, files={"inner.yaml": inner})
        nested = (await it.physical())["in"]
        await it.api.protection.protect_resource(nested, "f", ["all"])

        async def f() -> dict[str, Any]:
            shown: dict[str, Any] = await it.api.drift.show_resource(nested, "f")
            return shown

        async def is_reported() -> bool:
            return bool((await f())["drift"] == "drifted")

        async with observed(it, "repair"):
            (base / "f.txt").write_text("by hand")
            await until(is_reported)
            (base / "g.txt").write_text("by hand")
            await until(_is(lambda: (base / "g.txt").read_text() == "x"))
            await looked_again(it, 3)
            assert (base / "f.txt").read_text() == "by hand"
            stack = await it.api.stacks.show("s")
            assert (stack["stack_status"], stack["generation"]) == ("UPDATE_COMPLETE", 2), "one repair by the observer"
            shown = await f()
            assert (shown["drift"], shown["repairs"], shown["given_up_since"]) == ("drifted", 0, None)
            assert f"Resource f of stack {stack['stack_name']}-in-" in shown["not_repaired"]
            assert (await it.api.drift.show(nested))["given_up"] == []
        stack = await it.update({"in": {"type": "inner.yaml"}, "config": file("c.txt")}, files={"inner.yaml": inner},
                                converge=True)
        assert stack["stack_status"] == "UPDATE_FAILED", "an update by a user says what it could not do"
        assert "Resource f of stack s-in-" in stack["stack_status_reason"]

    lab(story)
