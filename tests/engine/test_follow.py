"""Following a stack: a small one is read whole, of a big one only the busy part, always in few rows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.queries.follow import Frame
from isotherm.states import NodeState
from isotherm.store import legacy_walk, locks
from isotherm.store import tables as t
from isotherm.store.database.writer import Connection
from isotherm.store.queue import choose, claim, release


def template(size: int) -> str:
    """A root, and so many that need it."""
    lines = ["heat_template_version: 2018-08-31", "resources:", "  root: {type: OS::Heat::Dummy}"]
    return "\n".join([*lines, *(f"  leaf{n}: {{type: OS::Heat::Dummy, depends_on: root}}" for n in range(size))])


async def accepted(engine: Embedded, size: int) -> str:
    return (await engine.orchestrator.stacks.create("s", Request(template(size)))).stack_id


def take_stack(connection: Connection, engine: str, until: float, now: float) -> int:
    """As an engine of the legacy path does: the stack first, and then what is to be done on it first."""
    (lock,) = locks.take(connection, locks.LockRequest(engine, until, 100), now)[0]
    phase = legacy_walk.phase(connection, lock, now)
    assert phase is not None
    waiting = {edge.dst for edge in phase.edges}
    ready = [stop.id for stop in phase.nodes if stop.id not in waiting]
    return len([legacy_walk.take(connection, lock, phase.operation, id_, until, 0.0) for id_ in ready])


async def take(engine: Embedded, worker: str, until: float) -> int:
    if not engine.settings.convergence_engine:
        return await engine.store.write(lambda c: take_stack(c, worker, until, engine.clock.now()))
    request = choose.ClaimRequest(worker, until, 100)
    return len((await engine.store.write(lambda c: claim.take(c, request, engine.clock.now()))).claims)


def look(folder: Path, size: int, lines: int) -> Frame:
    async def work(engine: Embedded) -> Frame:
        stack_id = await accepted(engine, size)
        await take(engine, "w", engine.clock.now() + 30)
        return await engine.follow(stack_id).frame(lines)

    found: Frame = run(folder, work)
    return found


def run(folder: Path, work: Any) -> Any:
    engine = Embedded(folder)
    try:
        return asyncio.run(work(engine))
    finally:
        engine.close()


def test_a_small_stack_is_seen_whole(tmp_path: Path) -> None:
    frame = look(tmp_path, 3, 10)
    assert frame.whole
    assert [(line.name, line.state.name, list(line.waits_for)) for line in frame.lines] == [
        ("root", "RUNNING", []), ("leaf0", "PENDING", ["root"]), ("leaf1", "PENDING", ["root"]),
        ("leaf2", "PENDING", ["root"])]


def test_of_a_big_stack_only_the_part_where_something_happens(tmp_path: Path) -> None:
    frame = look(tmp_path, 500, 10)
    assert not frame.whole
    assert [line.name for line in frame.lines] == ["root", "leaf0", "leaf1", "leaf2"]
    assert frame.counts == {NodeState.RUNNING: 1, NodeState.PENDING: 500}
    assert frame.remaining == 501


def test_what_a_dead_worker_held_is_free_and_what_others_hold_is_not(tmp_path: Path) -> None:
    async def work(engine: Embedded) -> list[tuple[str, str | None]]:
        await accepted(engine, 2)
        until = engine.clock.now() + 30
        assert await take(engine, "dead", until) == 1
        await engine.orchestrator.stacks.create("other", Request(template(0)))
        assert await take(engine, "alive", until) == 1
        assert await engine.store.write(lambda c: release.workers(c, ["dead"], engine.clock.now())) == 1
        assert await take(engine, "next", until) == 1
        query = sa.select(t.nodes.c.worker).where(t.nodes.c.worker.is_not(None)).order_by(t.nodes.c.worker)
        return await engine.store.read(lambda c: list(c.execute(query).scalars()))

    assert run(tmp_path, work) == ["alive", "next"]


def test_a_worker_that_was_wrongly_called_dead_cannot_speak_any_more(tmp_path: Path) -> None:
    async def work(engine: Embedded) -> set[tuple[int, int]]:
        await accepted(engine, 0)
        until = engine.clock.now() + 30
        lease = choose.ClaimRequest("slow", until, 10)
        claims = await engine.store.write(lambda c: claim.take(c, lease, engine.clock.now()).claims)
        await engine.store.write(lambda c: release.workers(c, ["slow"], engine.clock.now()))
        return await engine.store.write(lambda c: claim.renew(c, claims, until, engine.clock.now()))

    assert run(tmp_path, work) == set()


def test_what_a_newer_operation_holds_back_is_not_let_loose_by_a_death(tmp_path: Path) -> None:
    async def work(engine: Embedded) -> list[tuple[int, float | None]]:
        await accepted(engine, 2)
        await take(engine, "dead", engine.clock.now() + 30)
        await engine.orchestrator.stacks.delete("s")
        await engine.store.write(lambda c: release.workers(c, ["dead"], engine.clock.now()))
        query = sa.select(t.nodes.c.state, t.nodes.c.due).where(t.nodes.c.name == "leaf0")
        return await engine.store.read(lambda c: [tuple(row) for row in c.execute(query)])

    assert all(due is None for _, due in run(tmp_path, work))


def test_counts_and_lines_of_a_frame_are_of_one_moment(tmp_path: Path) -> None:
    async def work(engine: Embedded) -> None:
        follower = engine.follow(await accepted(engine, 3))
        assert sum((await follower.frame(10)).counts.values()) == 4
        follower._count_at = float("inf")
        assert await take(engine, "w", engine.clock.now() + 30) == 1
        frame = await follower.frame(10)
        assert frame.whole
        assert frame.counts == {NodeState.PENDING: 3, NodeState.RUNNING: 1}

    run(tmp_path, work)


def test_a_big_stack_is_counted_with_what_it_shows(tmp_path: Path) -> None:
    async def work(engine: Embedded) -> tuple[Frame, Frame, Frame]:
        stack_id = await accepted(engine, 30)
        follower = engine.follow(stack_id)
        before = await follower.frame(10)
        follower._count_at = float("inf")
        assert await take(engine, "w", engine.clock.now() + 30) == 1
        meanwhile = await follower.frame(10)
        follower._count_at = 0.0
        return before, meanwhile, await follower.frame(10)

    for frame, running in zip(run(tmp_path, work), (0, 0, 1), strict=True):
        assert frame.counts.get(NodeState.RUNNING, 0) == running
        assert sum(line.state is NodeState.RUNNING for line in frame.lines) == running
