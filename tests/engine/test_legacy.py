"""The legacy path: one engine has a stack, one operation at a time, and what becomes of it when the engine dies."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.engine import contexts
from isotherm.engine.legacy.engine import LegacyEngine, Tuning
from isotherm.engine.nested.inner_stacks import InnerStacksFactory
from isotherm.engine.process.embedded import Embedded, new_id
from isotherm.engine.steps.ports import EnginePorts
from isotherm.planning import planner
from isotherm.resources.reality.journal import JournalReality
from isotherm.states import NodeState
from isotherm.store import legacy_walk, locks
from isotherm.store import tables as t
from isotherm.store.database.writer import Connection
from isotherm.store.records import Report
from tests.engine.conftest import Lab, Tell, resource
from tests.engine.differences import DIFFERENCES

ROOT = Path(__file__).parents[2]
# The lease of an engine that dies in a test, and of one that goes on, however busy the machine is.
DYING_LEASE_S = 1.0
LEASE_S = 60.0


def slow(value: str = "x", seconds: float = 60, **options: Any) -> dict[str, Any]:
    """Slow to be made and to be changed, quick to go."""
    return resource(value, action_wait_secs={"create": seconds, "update": seconds}, **options)


async def rows(engine: Embedded, table: sa.Table) -> list[Any]:
    return await engine.store.read(lambda connection: list(connection.execute(sa.select(table)).mappings()))


async def is_(it: Lab, name: str, status: str) -> bool:
    return await it.status(name) == status


# One operation at a time.


@pytest.mark.parametrize("second", ["update", "check", "suspend", "resume", "snapshot"])
def test_a_second_operation_is_refused(lab: Tell, second: Any) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        await it.api.stacks.update("s", it.request({"a": slow("2")}))
        await it.until(lambda: is_(it, "a", "UPDATE_IN_PROGRESS"))
        ask = it.api.stacks.update("s", it.request({})) if second == "update" else it.act(second)
        with pytest.raises(errors.Conflict, match=r"Stack s already has an action \(UPDATE\) in progress.") as refused:
            await ask
        assert refused.value.kind == "ActionInProgress"
        assert (await it.api.stacks.show("s"))["stack_status"] == "UPDATE_IN_PROGRESS"

    lab(story)


def test_a_restore_is_refused_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        taken = await it.api.snapshots.take("s")
        await it.end(taken)
        await it.api.stacks.update("s", it.request({"a": slow("2")}))
        with pytest.raises(errors.Conflict, match="already has an action"):
            await it.api.snapshots.restore("s", taken.operation_id)

    lab(story)


def test_a_delete_stops_what_runs(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        request = it.request({"a": resource("1"), "b": slow(needs=["a"]), "c": resource(needs=["b"])})
        await it.api.stacks.create("s", request)
        await it.until(lambda: is_(it, "b", "CREATE_IN_PROGRESS"))
        stack = await it.delete()
        assert stack["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}
        begun = {one["resource_name"] for one in await it.api.events.list(stack["id"], last=1000)}
        assert begun == {"", "a", "b"}, "of c, nothing was begun"

        async def no_lock_is_left() -> bool:
            return await rows(it.engine, t.stack_locks) == []

        await it.until(no_lock_is_left)

    lab(story)


def test_a_delete_while_deleting_is_the_same_delete(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource(action_wait_secs={"delete": 0.5}), "b": resource(needs=["a"])})
        await it.api.stacks.delete("s")
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_cancelling_goes_back(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1"), "b": resource("1", update_replace_value="1")})
        before = await it.physical()
        await it.api.stacks.update("s", it.request(
            {"a": slow("2", 0.5, needs=["b"]), "b": resource("2", update_replace_value="2")}))
        await it.until(lambda: is_(it, "a", "UPDATE_IN_PROGRESS"))
        stack = await it.end(await it.api.stacks.cancel("s"))
        assert stack["stack_status"] == "ROLLBACK_COMPLETE"
        assert await it.physical() == before, "what was to be replaced was kept until the end, and is taken up again"
        assert it.values() == ["1", "1"]

    lab(story)


def test_a_rollback_can_be_asked_for(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.create({"a": resource("1")})
        assert (await it.update({"a": resource("2", fail=True)}))["stack_status"] == "UPDATE_FAILED"
        assert (await it.end(await it.api.stacks.rollback("s")))["stack_status"] == "ROLLBACK_COMPLETE"
        assert it.values() == ["1"]

    lab(story)


# Locks.


@pytest.mark.ledger("S3.2")
def test_a_tree_is_legacy_as_a_whole_and_no_worker_ever_finds_a_node(lab: Tell, architecture: Any) -> None:
    x = "{type: OS::Heat::TestResource, properties: {wait_secs: 0.3}}"
    inner = f"heat_template_version: 2021-04-16\nresources:\n  x: {x}"

    async def story(it: Lab) -> None:
        seen: list[float | None] = []
        accepted = await it.api.stacks.create("s", it.request(
            {"n": {"type": "inner.yaml"}, "g": {"type": "OS::Heat::ResourceGroup", "properties": {
                "count": 2, "resource_def": {"type": "OS::Heat::TestResource"}}}}, files={"inner.yaml": inner}))
        while (await it.api.stacks.show("s"))["status"] == "IN_PROGRESS":
            seen += [row["due"] for row in await rows(it.engine, t.nodes)]
            await asyncio.sleep(0.01)
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert set(seen) == {None}
        stacks = await rows(it.engine, t.stacks)
        assert len(stacks) == 3
        assert not any(row["convergence"] for row in stacks)

        async def no_lock_is_left() -> bool:
            return await rows(it.engine, t.stack_locks) == []

        await it.until(no_lock_is_left)  # an engine that has finished releases the lock
        assert (await it.delete())["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}

    lab(story)


@pytest.mark.ledger("S0.3")
def test_rows_have_what_convergence_will_want_to_know(lab: Tell) -> None:
    """What is harmless to the legacy path is stored there too, by the operations themselves."""

    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request({"a": resource("1"), "b": resource({"get_resource": "a"})}))
        await it.end(accepted)
        versions = {row["name"]: row for row in await rows(it.engine, t.resources)}
        assert versions["b"]["requires"] == f"[{versions['a']['id']}]"
        assert {row["operation_id"] for row in versions.values()} == {accepted.operation_id}
        assert all(row["digest"] for row in versions.values())
        first = versions["a"]["id"]
        await it.update({"a": resource("1", update_replace_value="new"), "b": resource({"get_resource": "a"})})
        (second,) = [row for row in await rows(it.engine, t.resources) if row["name"] == "a"]
        assert second["replaces"] == first

    lab(story)


# Engines that come and go.


@contextlib.asynccontextmanager
async def engine_on(folder: Embedded, name: str, lease_s: float = LEASE_S) -> AsyncIterator[LegacyEngine]:
    """Run an engine with nothing beside it; it may be killed before the block ends."""
    reality = JournalReality(folder.path / "reality.journal")
    context = contexts.shared(folder.store, folder.clock, contexts.ProcessPorts(reality, random.Random(1)))
    plans = planner.Planning(folder.store, folder.types, folder.clock)
    nesting = InnerStacksFactory(folder.store, folder.types, plans, folder.clock, new_id, lambda: engine.wake())
    ports = EnginePorts(folder.store, context, folder.types.implementation, plans, new_id, inner_stacks=nesting)
    engine = LegacyEngine(name, ports, Tuning(lease_s, idle_s=0.05))
    task = asyncio.create_task(engine.run())
    engine.task = task  # type: ignore[attr-defined]
    try:
        yield engine
    finally:
        engine.stop()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        reality.close()


async def kill(engine: LegacyEngine) -> None:
    """Kill the engine, in the middle of its work."""
    engine.task.cancel()  # type: ignore[attr-defined]
    for walker, task in engine._walkers.values():
        walker.lose()
        task.cancel()
    engine._walkers.clear()
    await asyncio.sleep(0)


def alone(tmp_path: Path) -> Lab:
    return Lab(Embedded(tmp_path))


TEMPLATE = {"a": resource("1"), "b": slow("2", needs=["a"]), "c": resource("3", needs=["b"])}


async def struck(it: Lab) -> dict[str, Any]:
    """A stack whose engine died while it created `b`, after the death was noticed."""
    async with engine_on(it.engine, "doomed", DYING_LEASE_S) as engine:
        accepted = await it.api.stacks.create("s", it.request(TEMPLATE))
        engine.wake()
        await it.until(lambda: is_(it, "b", "CREATE_IN_PROGRESS"))
        await kill(engine)
    async with engine_on(it.engine, "next"):
        return await it.end(accepted)


def test_a_stack_whose_engine_died_has_failed_and_says_why(tmp_path: Path) -> None:
    async def story() -> None:
        it = alone(tmp_path)
        stack = await struck(it)
        assert stack["stack_status"] == "CREATE_FAILED"
        assert stack["stack_status_reason"] == "Engine went down during stack CREATE"
        (b,) = [one for one in await it.api.resources.list("s") if one["resource_name"] == "b"]
        assert b["resource_status"] == "CREATE_FAILED"
        assert b["resource_status_reason"] == "Engine went down during stack CREATE"
        assert await it.history("c") == []
        assert await rows(it.engine, t.stack_locks) == []
        it.engine.close()

    asyncio.run(story())


@pytest.mark.parametrize("recovery", ["update", "delete"])
def test_an_update_or_a_delete_recovers_it_and_nothing_is_lost(tmp_path: Path, recovery: Any) -> None:
    async def story() -> None:
        it = alone(tmp_path)
        await struck(it)
        async with engine_on(it.engine, "next"):
            if recovery == "update":
                stack = await it.update({**TEMPLATE, "b": resource("2", needs=["a"])})
                assert stack["stack_status"] == "UPDATE_COMPLETE", stack
                assert it.values() == ["1", "2", "3"], "what had been begun is gone, or is it"
                assert set((await it.physical()).values()) == set(it.objects())
            stack = await it.delete()
            assert stack["stack_status"] == "DELETE_COMPLETE", stack
            assert it.objects() == {}
        it.engine.close()

    asyncio.run(story())


def test_a_delete_that_was_accepted_before_the_death_was_noticed_goes_ahead(tmp_path: Path) -> None:
    async def story() -> None:
        it = alone(tmp_path)
        async with engine_on(it.engine, "doomed", DYING_LEASE_S) as engine:
            await it.api.stacks.create("s", it.request(TEMPLATE))
            engine.wake()
            await it.until(lambda: is_(it, "b", "CREATE_IN_PROGRESS"))
            await kill(engine)
        accepted = await it.api.stacks.delete("s")
        async with engine_on(it.engine, "next"):
            assert (await it.end(accepted))["stack_status"] == "DELETE_COMPLETE"
        assert it.objects() == {}
        it.engine.close()

    asyncio.run(story())


def test_an_engine_that_leaves_in_good_order_hands_its_stacks_on(tmp_path: Path) -> None:
    async def story() -> None:
        it = alone(tmp_path)
        async with engine_on(it.engine, "first"):
            accepted = await it.api.stacks.create("s", it.request({**TEMPLATE, "b": slow("2", 0.8, needs=["a"])}))
            await it.until(lambda: is_(it, "b", "CREATE_IN_PROGRESS"))
        (lock,) = await rows(it.engine, t.stack_locks)
        assert lock["engine"] is None
        async with engine_on(it.engine, "second"):
            assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        assert it.values() == ["1", "2", "3"]
        assert await it.history("b") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"], "it went on where it was"
        it.engine.close()

    asyncio.run(story())


def test_what_an_engine_says_that_has_lost_the_stack_changes_no_row(tmp_path: Path) -> None:
    async def story() -> None:
        it = alone(tmp_path)
        await it.api.stacks.create("s", it.request({"a": resource("1")}))
        now = it.engine.clock.now()

        def stolen(connection: Connection) -> tuple[locks.Lock, Report]:
            (lost,) = locks.take(connection, locks.LockRequest("slow", now - 1, 9), now)[0]
            phase = legacy_walk.phase(connection, lost, now)
            assert phase is not None
            claim = legacy_walk.take(connection, lost, phase.operation, phase.nodes[0].id, now - 1, now)
            assert claim is not None
            assert locks.take(connection, locks.LockRequest("quick", now + 30, 9), now)[0]
            return lost, Report(claim, NodeState.FAILED, reason="of no importance")

        lost, report = await it.engine.store.write(stolen)
        for unit in (lambda c: legacy_walk.record(c, lost, report, legacy_walk.NodeChanges(), "new", now),
                     lambda c: legacy_walk.take(c, lost, report.claim.operation, report.claim.node_id, now, now),
                     lambda c: legacy_walk.hand_on(c, lost, now)):
            with pytest.raises(errors.Superseded):
                await it.engine.store.write(unit)
        assert await it.engine.store.write(lambda c: locks.renew(c, [lost], now + 30)) == set()
        (lock,) = await rows(it.engine, t.stack_locks)
        assert (lock["engine"], (await rows(it.engine, t.nodes))[0]["state"]) == ("quick", NodeState.RUNNING)
        it.engine.close()

    asyncio.run(story())


@pytest.mark.ledger("S3.3")
def test_the_list_of_differences_is_what_the_page_shows_and_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "paths.md").read_text()
    sources = "".join(file.read_text() for part in ("engine", "api") for file in (ROOT / "tests" / part).glob("test_*.py"))
    for test, reason in DIFFERENCES.items():
        assert f"def {test}(" in sources, test
        assert test in page, test
        assert reason in page, reason
