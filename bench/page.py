"""The reads of the page, at stacks of 1,000, 10,000 and 100,000 resources, and a tree of 1,000,000.

The rows are written as the engine leaves them, without running it. `first` is the first look of a process, `again` the
median of later ones. The measure is processor time of all threads, on which other load has little influence.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench import harness
from isotherm.engine.overview.graphs import GraphQuery, MemberQuery
from isotherm.engine.overview.summaries import Chosen
from isotherm.engine.overview.tallies import MOST_LEVELS
from isotherm.engine.process.embedded import Embedded
from isotherm.states import Action, EdgeKind, NodeKind, NodeState, OperationState, Status
from isotherm.store import tables as t
from isotherm.store.reads.stack_list import StackQuery

TYPE = "OS::Heat::TestResource"
AGAIN = 5
# Nested stacks of the tree, and resources of each.
INNER, MEMBERS = 1000, 1000


def write(connection: sa.Connection, prefix: str, resources: int, owner: str | None, first: int) -> None:
    """Write a stack in progress: a start, many that need it, of which some are done, and an end."""
    now, operation = time.time(), f"o-{prefix}"
    connection.execute(sa.insert(t.stacks).values(
        id=f"s-{prefix}", project="default", name=prefix, tomb="", owner_id=owner, username="",
        depth=int(owner is not None), generation=1, operation_id=operation, action=int(Action.CREATE),
        status=int(Status.IN_PROGRESS), reason="",
        description="", tags="[]", disable_rollback=True, convergence=True, created_at=now))
    connection.execute(sa.insert(t.operations).values(
        id=operation, stack_id=f"s-{prefix}", generation=1, action=int(Action.CREATE), state=int(OperationState.UPDATING),
        input="", disable_rollback=True, tags="[]", remaining=resources, created_at=now, fence=0))
    numbers = range(first, first + resources)
    connection.execute(sa.insert(t.nodes), list(_nodes(prefix, numbers, now)))
    connection.execute(sa.insert(t.resources), list(_versions(prefix, numbers, now)))
    edges = [{"src": first, "dst": number, "kind": int(EdgeKind.REQUIRES)} for number in numbers[1:-1]]
    edges += [{"src": number, "dst": numbers[-1], "kind": int(EdgeKind.REQUIRES)} for number in numbers[1:-1]]
    connection.execute(sa.insert(t.edges), edges)


def _nodes(prefix: str, numbers: range, now: float) -> Iterator[dict[str, Any]]:
    for place, number in enumerate(numbers):
        busy = place % 1000 == 17
        state = NodeState.WAITING if busy else NodeState.DONE if place % 3 else NodeState.PENDING
        yield {"id": number, "stack_id": f"s-{prefix}", "name": f"web_{place}", "kind": int(NodeKind.UPDATE),
               "state": int(state), "generation": 1, "pending": int(state is NodeState.PENDING), "outdated": False,
               "awaits_cleanup": False, "resource_id": number, "fence": 0, "due": now + 3600 if busy else None}


def _versions(prefix: str, numbers: range, now: float) -> Iterator[dict[str, Any]]:
    for number in numbers:
        yield {"id": number, "stack_id": f"s-{prefix}", "name": f"web_{number - numbers[0]}", "type": TYPE,
               "implementation": TYPE, "token": str(number), "physical_id": f"p{number}", "action": int(Action.CREATE),
               "status": int(Status.COMPLETE), "reason": "", "properties": "{}", "metadata": "{}", "data": "{}",
               "requires": "[]", "superseded": False, "deletion_policy": 1, "external": False,
               "operation_id": f"o-{prefix}", "suspended": False, "created_at": now, "signals": 0, "signal_bytes": 0}


def write_tree(connection: sa.Connection, first: int) -> None:
    """Write a stack with a thousand nested stacks of a thousand resources each."""
    write(connection, "tree", INNER, None, first)
    for number in range(INNER):
        write(connection, f"tree-{number}", MEMBERS, "s-tree", first + (number + 1) * MEMBERS)
    connection.execute(sa.update(t.resources).where(t.resources.c.stack_id == "s-tree").values(
        physical_id="s-tree-" + sa.cast(t.resources.c.id - first, sa.String)))


async def timed(ask: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Return the milliseconds of processor time of the first call, and the median of later ones."""
    took = []
    for _ in range(AGAIN + 1):
        began = time.process_time()
        await ask()
        took.append((time.process_time() - began) * 1000)
    return took[0], statistics.median(took[1:])


async def measure(report: harness.Report, engine: Embedded, name: str, resources: int) -> None:
    api, stack = engine.orchestrator, f"s-{name}"
    live, _ = await api.live.begin(stack, GraphQuery())
    asked: dict[str, Callable[[], Awaitable[Any]]] = {
        "summary": partial(api.summaries.show, stack), "graph": partial(api.graphs.show, stack, GraphQuery()),
        "members": partial(api.graphs.members, stack, MemberQuery()),
        "members of the tree": partial(api.graphs.members, stack, MemberQuery(depth=MOST_LEVELS, search="web_99")),
        "why": partial(api.causes.why, stack, f"web_{min(resources, INNER) - 1}"),
        "delta": partial(api.live.delta, live, ["web_1"]),
    }
    for what, ask in asked.items():
        first, again = await timed(ask)
        report.figure(f"{what} of {resources:,}, first", first, "ms")
        report.figure(f"{what} of {resources:,}, again", again, "ms")


async def whole(report: harness.Report, folder: Path) -> None:
    engine = Embedded(folder)
    first = 1
    for resources in (1000, 10_000, 100_000):
        begin, name = first, f"flat-{resources}"
        await engine.store.write(lambda connection, begin=begin, name=name, size=resources: write(  # type: ignore[misc]
            connection, name, size, None, begin))
        await measure(report, engine, name, resources)
        first += resources
    begin = first
    await engine.store.write(lambda connection: write_tree(connection, begin))
    await measure(report, engine, "tree", (INNER + 1) * MEMBERS)
    first_ms, again_ms = await timed(partial(engine.orchestrator.summaries.page, Chosen(StackQuery())))
    report.figure("list of these, first", first_ms, "ms")
    report.figure("list of these, again", again_ms, "ms")
    engine.close()


def main() -> int:
    report = harness.Report("page")
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as folder:
        asyncio.run(whole(report, Path(folder)))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
