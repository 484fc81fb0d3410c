"""The observer observes real files and processes, reports drift, and has it repaired where the policy says so."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isotherm import errors
from isotherm.observer.service import Tuning
from isotherm.planning.planner import Planning
from isotherm.resources import contract
from isotherm.resources.local import confinement, supervisor_client
from isotherm.resources.local.file import File
from isotherm.secrets import Redactor
from isotherm.store.database.writer import Connection
from isotherm.store.watch import repair_records, views
from isotherm.store.watch import schedule as watching
from isotherm.store.watch.schedule import Watch
from tests import patience
from tests.engine.conftest import PATIENCE_S, Lab, Tell, resource
from tests.engine.local_stage import file, folder, process

pytestmark = [pytest.mark.ledger("S1.5"), pytest.mark.usefixtures("base")]

# Its interval is so long that every observation was hinted at, or requested.
SELDOM = {"observer_interval": 3600}
OFTEN = {"observer_interval": 0.05, "observer_rate": 0}
QUICK = Tuning(lease_s=5.0, idle_s=0.02, enrol_s=0.05)


def options(path: Path, **told: Any) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "isotherm.conf").write_text("[DEFAULT]\n" + "".join(f"{name} = {value}\n" for name, value in told.items()))


@contextlib.asynccontextmanager
async def observed(it: Lab, policy: str | None = None, **more: Any) -> AsyncIterator[None]:
    """The stack of the lab, under a policy, with an observer at work."""
    if policy is not None or more:
        await it.api.drift.set_watch("s", policy=policy, **more)
    async with it.engine.observing(QUICK):
        yield


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.02)


async def seen(it: Lab, name: str) -> str:
    return str((await it.api.drift.show_resource("s", name))["drift"])


async def told(it: Lab, name: str) -> list[str]:
    found = await it.api.events.list("s", last=1000)
    return [one["resource_status_reason"] for one in found
            if one["resource_name"] == name and one["resource_status"] == "OBSERVE_COMPLETE"]


async def becomes(it: Lab, name: str, word: str) -> None:
    async def is_so() -> bool:
        return await seen(it, name) == word

    await until(is_so)


def test_drift_is_told_once_when_it_comes_and_once_when_it_goes(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file(content="as it should be"), "other": file("b.txt")})
        async with observed(it):
            await becomes(it, "config", "in_sync")
            path.write_text("as somebody else likes it")
            await becomes(it, "config", "drifted")
            view = await it.api.drift.show_resource("s", "config")
            assert view["properties"] == [{"property": "content", "wanted": "as it should be", "change_pending": False,
                                           "applied": "as it should be", "live": "as somebody else likes it"}]
            assert view["drifted_since"] is not None
            path.unlink()
            await becomes(it, "config", "gone")
            whole = await it.api.drift.show("s")
            assert (whole["drift"], whole["policy"]) == ("drifted", "report")
            assert whole["counts"] == {"in_sync": 1, "drifted": 0, "gone": 1, "unseen": 0}
            assert [one["resource_name"] for one in whole["resources"]] == ["config"]
            path.write_text("as it should be")
            await becomes(it, "config", "in_sync")
            assert await told(it, "config") == ["Drift seen: content", "Drift is gone"]
        assert (await it.api.stacks.show("s"))["generation"] == 1, "report changes nothing"

    lab(story)


def test_what_drifts_is_mended_and_nothing_else_is_touched(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"d": folder(), "config": file("d/c", "right", needs=["d"]), "other": file("d/o", needs=["d"]),
                         "server": {**process(), "depends_on": ["config"]}})
        async with observed(it, "repair"):
            (base / "d/c").write_text("wrong")
            await until(_is(lambda: (base / "d/c").read_text() == "right"))
            (base / "d/c").unlink()
            await until(_is(lambda: (base / "d/c").exists()))
            [old] = _running(base)
            os.kill(old, signal.SIGKILL)
            await until(_is(lambda: bool(_running(base) - {old})))
            for name in ("config", "server"):
                await becomes(it, name, "in_sync")
        stack = await it.api.stacks.show("s")
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert await it.history("d") == await it.history("other") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
        assert (await told(it, "config"))[:2] == ["Drift seen: content", "Drift is gone"]
        await it.delete()

    lab(story)


def _is(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        with contextlib.suppress(OSError):
            return condition()
        return False

    return asked


def _running(base: Path) -> set[int]:
    confined = confinement.Confined(base)
    found = [supervisor_client.state(confined, one.stem) for one in base.glob(".isotherm/processes/*.json")]
    return {one.child[0] for one in found if one is not None and one.is_running and one.child is not None}


def test_what_is_ignored_is_not_looked_at(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": {**file(), "metadata": {"isotherm": {"drift": "ignore"}}}, "other": file("b.txt")})
        async with observed(it, "repair"):
            await becomes(it, "other", "in_sync")
            path.unlink()
            (tmp_path / "local" / "b.txt").unlink()
            await until(_is((tmp_path / "local" / "b.txt").exists))
            assert (await seen(it, "config"), path.exists()) == ("never_seen", False)
            await it.api.drift.set_resource_policy("s", "config", "repair")
            await until(_is(path.exists))

    lab(story)


def test_metadata_can_ask_for_repair_of_one(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"a": {**file("a"), "metadata": {"isotherm": {"drift": "repair"}}}, "b": file("b")})
        async with observed(it):
            (base / "a").unlink()
            (base / "b").unlink()
            await until(_is((base / "a").exists))
            await becomes(it, "b", "gone")
            assert not (base / "b").exists()

    lab(story)


def test_maintenance_reports_drift_and_a_pause_stops_observation(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        async with observed(it, "repair", mode="maintenance"):
            path.unlink()
            await becomes(it, "config", "gone")
            await it.api.drift.set_watch("s", mode="paused")
            path.write_text("hello")
            before = await looks(it)

            async def is_as_before() -> bool:
                return (await seen(it, "config"), await looks(it)) == ("gone", before)

            await patience.stays(is_as_before)
            path.unlink()
            await it.api.drift.set_project_mode("maintenance")
            await it.api.drift.set_watch("s", mode="active")
            await looked_again(it, times=5)
            assert not path.exists(), "the project is in maintenance"
            await it.api.drift.set_project_mode("active")
            await until(_is(path.exists))

    lab(story)


async def looks(it: Lab) -> str:
    return str((await it.api.drift.show_resource("s", "config"))["observed_time"])


async def looked_again(it: Lab, times: int) -> None:
    """Wait until the observer has looked so often again."""
    for _ in range(times):
        before = await looks(it)

        async def is_later(before: str = before) -> bool:
            return await looks(it) != before

        await until(is_later)


def test_nothing_is_repaired_while_an_operation_runs(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        wait = {"type": "OS::Heat::TestResource", "properties": {"value": "x", "wait_secs": 1}}
        async with observed(it, "repair"):
            await becomes(it, "config", "in_sync")
            accepted = await it.api.stacks.update("s", it.request({"config": file(), "slow": wait}))
            path.unlink()
            while (await it.api.stacks.show("s"))["generation"] == accepted.generation:
                await asyncio.sleep(0.02)
            slow = [one["resource_status"] for one in await it.api.events.list("s") if one["resource_name"] == "slow"]
            assert slow == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"], "it was not waited for"
            await until(_is(path.exists))
        assert (await it.api.stacks.show("s"))["generation"] == accepted.generation + 1

    lab(story)


def test_a_hint_is_looked_at_at_once(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **SELDOM)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        async with observed(it):
            await becomes(it, "config", "in_sync")
            path.unlink()

            async def is_in_sync() -> bool:
                return await seen(it, "config") == "in_sync"

            await patience.stays(is_in_sync)  # it is not time yet
            await it.api.drift.hint("s", ["config"])
            await becomes(it, "config", "gone")
            path.write_text("hello")
            await it.api.drift.hint("s")
            await becomes(it, "config", "in_sync")

    lab(story)


def test_a_hint_during_a_look_at_the_same_is_not_lost(lab: Tell, tmp_path: Path) -> None:
    """The observation may show the state before that hint."""
    options(tmp_path, **SELDOM)

    async def story(it: Lab) -> None:
        stack_id = (await it.create({"config": file()}))["id"]
        store, now = it.engine.store, it.engine.clock.now()
        await store.write(lambda c: watching.enrol(c, now))
        await it.api.drift.hint("s", ["config"])
        [watch] = await store.write(lambda c: watching.take(c, "w", now + 1, 5.0, 1))
        await it.api.drift.hint("s", ["config"])
        await store.write(lambda c: watching.give_back(c, watch, "w", due=now + 3600, hints=watch.hints))
        [watch] = await store.write(lambda c: watching.take(c, "w", now + 1, 5.0, 1))
        assert (watch.stack_id, list(watch.hints)) == (stack_id, ["config"])
        await store.write(lambda c: watching.give_back(c, watch, "w", due=now + 3600, hints=watch.hints))
        assert await store.write(lambda c: watching.take(c, "w", now + 1, 5.0, 1)) == []

    lab(story)


def test_types_and_stacks_have_intervals_of_their_own(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, observer_interval=3600, observer_type_intervals="Isotherm::Local::Directory=0.05", observer_rate=0)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"config": file(), "d": folder()})
        async with observed(it):
            await becomes(it, "config", "in_sync")
            (base / "a.txt").unlink()
            (base / "d").rmdir()
            await becomes(it, "d", "gone")
            assert await seen(it, "config") == "in_sync"
            await it.api.drift.set_watch("s", interval=0.05)
            await becomes(it, "config", "gone")

    lab(story)


def test_a_fight_is_given_up_and_that_is_said(lab: Tell, tmp_path: Path) -> None:
    """Abuse case 67: an actor undoes each repair."""
    options(tmp_path, observer_interval=0.05, observer_rate=20, observer_repair_limit=3)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file(content="ours"), "other": file("b.txt")})
        began = asyncio.get_running_loop().time()
        async with observed(it, "repair"):
            fight = asyncio.create_task(_undo(path))
            try:
                await until(lambda: _given_up(it, "config"))
                generation = (await it.api.stacks.show("s"))["generation"]
                await looked_again(it, times=5)
                assert (await it.api.stacks.show("s"))["generation"] == generation == 4, "three repairs, and no more"
            finally:
                fight.cancel()
            assert [one for one in await told(it, "config") if "given up" in one] == [
                "Repair given up: it was repaired 3 times within 600 seconds, and something undoes the repairs"]
            whole = await it.api.drift.show("s")
            assert (whole["given_up"], whole["resources"][0]["repairs"]) == (["config"], 3)
            (tmp_path / "local" / "b.txt").unlink()
            await until(_is((tmp_path / "local" / "b.txt").exists))
            await it.api.drift.set_watch("s", policy="repair")
            await until(_is(lambda: path.read_text() == "ours"))
            took = asyncio.get_running_loop().time() - began
        numbers = await it.engine.store.read(lambda connection: views.numbers(connection, 0.0))
        assert (numbers.trips, numbers.given_up) == (1, 0)
        assert numbers.calls <= 20 * (took + 0.2) + 2, "the budget was kept"

    lab(story)


async def _undo(path: Path) -> None:
    while True:
        with contextlib.suppress(OSError):
            if path.read_text() == "ours":
                path.write_text("theirs")
        await asyncio.sleep(0.005)


async def _given_up(it: Lab, name: str) -> bool:
    return (await it.api.drift.show_resource("s", name))["given_up_since"] is not None


def test_what_is_inside_is_repaired_by_the_stack_around(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"
    inner = "heat_template_version: 2021-04-16\nresources:\n  f: {type: Isotherm::Local::File, " \
            "properties: {path: a.txt, content: x}}\n"

    async def story(it: Lab) -> None:
        await it.create({"inside": {"type": "inner.yaml"}, "beside": resource()}, files={"inner.yaml": inner})
        async with observed(it, "repair"):
            path.unlink()
            await until(_is(path.exists))
        assert (await it.end(await _nothing(it)))["stack_status"] == "UPDATE_COMPLETE"
        assert await it.history("beside") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]

    lab(story)


@pytest.mark.parametrize("how", ["metadata", "override"])
def test_settings_of_a_nested_stack_hold_for_its_resources(lab: Tell, tmp_path: Path, how: Any) -> None:
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"
    inner = "heat_template_version: 2021-04-16\nparameters: {p: {type: string}}\nresources:\n  f: {type: " \
            "Isotherm::Local::File, properties: {path: {get_param: p}, content: x}}\n"

    async def story(it: Lab) -> None:
        said = {"metadata": {"isotherm": {"drift": "repair"}}} if how == "metadata" else {}
        await it.create({"one": {"type": "inner.yaml", "properties": {"p": "1"}, **said},
                         "two": {"type": "inner.yaml", "properties": {"p": "2"}}}, files={"inner.yaml": inner})
        async with observed(it, "report"):
            (base / "1").unlink()
            (base / "2").unlink()
            if how == "override":
                await it.api.drift.set_resource_policy("s", "one", "repair")
            await until(_is((base / "1").exists))
            assert not (base / "2").exists()

    lab(story)


def test_settings_of_a_nested_stack_reset_the_repair_counts(lab: Tell, tmp_path: Path) -> None:
    """Repairs that were given up may be tried again, and an observer at work cannot write the old counts again."""
    inner = "heat_template_version: 2021-04-16\nresources:\n  f: {type: Isotherm::Local::File, " \
            "properties: {path: a.txt, content: x}}\n"

    async def story(it: Lab) -> None:
        await it.create({"inside": {"type": "inner.yaml"}}, files={"inner.yaml": inner})
        within, store = (await it.physical())["inside"], it.engine.store
        given_up = repair_records.Repair("f", reported_at=1.0, rounds=3, since=1.0, last_at=2.0, tripped_at=3.0)

        def held(connection: Connection) -> Watch:
            watching.enrol(connection, 0.0)
            repair_records.write(connection, within, [given_up])
            return next(one for one in watching.take(connection, "o", 1.0, 1e12, 10) if one.stack_id == within)

        watch = await store.write(held)
        await it.api.drift.set_resource_policy("s", "inside", "report")
        [one] = (await store.read(lambda connection: repair_records.of_stack(connection, within))).values()
        assert (one.rounds, one.tripped_at, one.last_at) == (0, None, 2.0)
        assert not await store.read(lambda connection: watching.is_held(connection, watch, "o"))

    lab(story)


def test_what_is_seen_is_compared_with_what_is_applied_now(lab: Tell) -> None:
    """The definition stays the same, and what it resolves to does not: the last comparison says nothing of the next."""

    async def story(it: Lab) -> None:
        def pair(value: str) -> dict[str, Any]:
            return {"a": resource(value), "b": resource({"get_attr": ["a", "output"]})}

        await it.create(pair("1"))
        b = (await it.physical())["b"]
        await it.api.drift.observe("s")
        await it.update(pair("2"))
        await it.change(b, {"value": "1"})
        await it.api.drift.observe("s")
        assert await seen(it, "b") == "drifted", "it looks as it did before, which was right then"
        await it.update(pair("1"))
        await it.api.drift.observe("s")
        assert await seen(it, "b") == "in_sync", "it looks as it did before, which was wrong then"

    lab(story)


async def _nothing(it: Lab) -> Any:
    stack = await it.api.stacks.show("s")
    return type("Accepted", (), {"stack_id": stack["id"]})()


def test_an_operation_that_comes_before_reasons_are_masked_is_no_failure(
    lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The input with the secrets is gone by then, as after the deletion of a nested stack (simulator, seed 41000668)."""
    options(tmp_path, **OFTEN)
    read = Planning.all_secrets
    refused: list[str] = []

    async def away(_: File) -> contract.LiveState:
        raise errors.Temporary("the disk is away")

    async def overtaken_once(self: Planning, stack_id: str, *inputs: str) -> Redactor:
        if not refused:
            refused.append(stack_id)
            raise errors.Overtaken("Another operation on this stack came in between.")
        return await read(self, stack_id, *inputs)

    async def story(it: Lab) -> None:
        await it.create({"config": file(content="as it should be")})
        monkeypatch.setattr(File, "handle_get_reality", away)
        monkeypatch.setattr(Planning, "all_secrets", overtaken_once)
        async with observed(it):
            await until(_is(lambda: bool(refused)))
            await becomes(it, "config", "unseen")

    lab(story)
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []
