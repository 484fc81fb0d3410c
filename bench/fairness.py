"""Fair shares: the time of a small stack beside a big one, and the cost of the fair choice.

The small stack is requested when a tenth of the big one is made; its time, from the request to its end, is compared with
its time alone. The cost is the processor time of a create over one that claims the longest due nodes first, without the
indexes of the fair choice. Each run is a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import sqlalchemy as sa

from bench import harness, shapes
from isotherm import collector
from isotherm.engine.orchestrator import Accepted, Request
from isotherm.engine.process.embedded import Embedded
from isotherm.states import OperationState
from isotherm.store import tables as t
from isotherm.store.queue import choose

SMALL = 10
# Limits: of the small stack's time, and of the processor time of a create.
BESIDE, ALONE, SHARED = 25.0, 1.05, 1.15
_INDEXES = ("ix_nodes_turns", "ix_nodes_running", "ix_stacks_at_work")


def by_age(connection: sa.Connection, request: choose.ClaimRequest, now: float) -> choose.Choice:
    """Claim the longest due nodes, without fair shares."""
    node = t.nodes.c
    due = sa.select(node.id).where(node.due <= now).order_by(node.due).limit(request.capacity)
    return choose.Choice(list(connection.execute(due).scalars()), request.cursor)


async def _ended(engine: Embedded, accepted: Accepted) -> None:
    while (stack := await engine.orchestrator.stacks.find(accepted.stack_id))["status"] == "IN_PROGRESS":
        await asyncio.sleep(0.005)
    if stack["status"] != "COMPLETE":
        raise SystemExit(f"{stack['stack_status']}: {stack['stack_status_reason']}")


async def _left(engine: Embedded, accepted: Accepted) -> int:
    """Return the number of unfinished nodes of the stack; before it has nodes, a number above its size."""
    operation = t.operations.c
    query = sa.select(operation.remaining, operation.state).where(operation.stack_id == accepted.stack_id)
    remaining, state = await engine.store.read(lambda connection: tuple(connection.execute(query).one()))
    return remaining if state != OperationState.PLANNING else sys.maxsize


async def _beside(engine: Embedded, size: int) -> dict[str, float]:
    """Measure a small stack alone and beside a big one, and the part of the big one that was made when it ended."""
    async def small(name: str) -> float:
        began = time.perf_counter()
        await _ended(engine, await engine.orchestrator.stacks.create(name, Request(shapes.template("independent", SMALL))))
        return time.perf_counter() - began

    await small("first")
    alone = statistics.median([await small(f"alone{number}") for number in range(3)])
    big = await engine.orchestrator.stacks.create("big", Request(shapes.template("independent", size)))
    while await _left(engine, big) > size * 0.9:
        await asyncio.sleep(0.01)
    beside = await small("beside")
    part = 1 - await _left(engine, big) / size
    await _ended(engine, big)
    return {"alone": alone, "beside": beside, "part": part}


async def _create(engine: Embedded, stacks: int, size: int) -> dict[str, float]:
    """Measure the processor time of this number of stacks at once."""
    template = Request(shapes.template("layered", size))
    began = time.process_time()
    for one in [await engine.orchestrator.stacks.create(f"s{number}", template) for number in range(stacks)]:
        await _ended(engine, one)
    return {"cpu": time.process_time() - began}


_MEASURES: dict[str, Callable[..., Awaitable[dict[str, float]]]] = {"beside": _beside, "create": _create}


def _without_indexes(connection: sa.Connection) -> None:
    for index in _INDEXES:
        connection.exec_driver_sql(f"DROP INDEX {index}")


async def _measure(folder: Path, what: str, *, fair: bool) -> dict[str, float]:
    collector.tune()
    engine = Embedded(folder)
    try:
        if not fair:
            choose.choose = by_age
            await engine.store.write(_without_indexes)
        async with engine.driving():
            kind, *sizes = what.split()
            return await _MEASURES[kind](engine, *map(int, sizes))
    finally:
        engine.close()


def _run(what: str, *, fair: bool = True) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp(prefix="isotherm-bench-"))
    try:
        command = [sys.executable, "-m", "bench.fairness", "--measure", what, "fair" if fair else "by age", str(folder)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        found: dict[str, float] = json.loads(answer.stdout)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _cost(report: harness.Report, name: str, what: str, limit: float) -> None:
    pairs = [(_run(what)["cpu"], _run(what, fair=False)["cpu"]) for _ in range(report.runs)]
    report.figure(f"{name}: with turns", statistics.median(pair[0] for pair in pairs), "s of the processor")
    report.figure(f"{name}: with turns / by age", statistics.median(one / other for one, other in pairs), "x", limit=limit)


def main() -> int:
    options = harness.arguments(__doc__ or "")
    report = harness.Report("fairness", options.runs)
    size = 2_000 if options.small else 20_000
    runs = [_run(f"beside {size}") for _ in range(options.runs)]
    for figure in ("alone", "beside"):
        report.figure(f"{SMALL} {figure}", statistics.median(run[figure] for run in runs), "s")
    part = statistics.median(run["part"] for run in runs)
    report.figure(f"{SMALL} beside {size}: made of the big one by then", part, "part")
    ratio = statistics.median(run["beside"] / run["alone"] for run in runs)
    report.figure(f"{SMALL} beside {size} / alone", ratio, "x", limit=BESIDE)
    size //= 2
    _cost(report, f"one stack of {size}", f"create 1 {size}", ALONE)
    _cost(report, f"20 stacks of {size // 20}", f"create 20 {size // 20}", SHARED)
    return report.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(asyncio.run(_measure(Path(sys.argv[4]), sys.argv[2], fair=sys.argv[3] == "fair"))))
        sys.exit(0)
    sys.exit(main())
