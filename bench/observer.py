"""The observer in one process: the cost of a round without drift, the use of the budget, and the time to repair.

100,000 resources in 100 stacks, whose objects are in a journal. The figures are the observer's own cost; clouds answer more
slowly. Engine and observer share the process, as in `isotherm up`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench import harness
from isotherm import collector
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.resources.reality.journal import JournalReality
from isotherm.store import tables as t
from isotherm.store.watch import schedule, views

STACKS, MEMBERS = 100, 1000
# The measured budget of each project and type.
RATE = 20.0
INTERVAL_S, SMALL_S = 10.0, 2.0
PATIENCE_S = 300.0


def template(size: int) -> str:
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    lines += [f"  r{n:05}: {{type: OS::Heat::TestResource, properties: {{value: right}}}}" for n in range(size)]
    return "\n".join(lines) + "\n"


class Watched:
    """Stacks, and an observer of them."""

    def __init__(self, folder: Path, stacks: int, members: int) -> None:
        self.engine = Embedded(folder)
        self.stacks, self.members = stacks, members
        self.size = stacks * members

    def set(self, **options: Any) -> None:
        self.engine.settings = dataclasses.replace(self.engine.settings, **options)

    async def make(self) -> None:
        api, text = self.engine.orchestrator, template(self.members)
        for first in range(0, self.stacks, 10):
            some = [await api.stacks.create(f"s{n}", Request(text)) for n in range(first, min(first + 10, self.stacks))]
            for one in some:
                while (await api.stacks.find(one.stack_id))["status"] == "IN_PROGRESS":
                    await asyncio.sleep(0.05)

    async def round(self) -> dict[str, float]:
        """Observe everything once, without a budget; return the seconds, and the seconds of processor time."""
        began, worked = time.perf_counter(), time.process_time()
        at = self.engine.clock.now()
        ids = [one["id"] for one in await self.engine.orchestrator.stacks.list()]

        def ask(connection: Any) -> None:
            for stack_id in ids:
                schedule.hint(connection, stack_id, None, at)

        await self.engine.store.write(ask)
        await self._looked(at)
        return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - worked}

    async def _looked(self, at: float) -> None:
        column = t.watches.c.observed_at
        query = sa.select(sa.func.count()).where(column >= at)
        end = time.monotonic() + PATIENCE_S
        while await self.engine.store.read(lambda c: c.execute(query).scalar_one()) < self.stacks:
            if time.monotonic() > end:
                raise SystemExit("the round does not end")
            await asyncio.sleep(0.05)

    async def calls(self) -> int:
        found = await self.engine.store.read(lambda connection: views.numbers(connection, 0.0))
        return found.calls


async def cost(watched: Watched, report: harness.Report) -> None:
    """Measure rounds without drift."""
    watched.set(observer_rate=0.0, observer_interval=3600.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with watched.engine.observing():
        first = await watched.round()
        later = [await watched.round() for _ in range(2)]
    report.figure("first round: processor per resource", first["cpu"] / watched.size * 1e6, "us")
    each = statistics.median(one["cpu"] for one in later) / watched.size * 1e6
    report.figure("round with nothing changed: processor per resource", each, "us", limit=200.0)
    report.figure("round with nothing changed", statistics.median(one["seconds"] for one in later), "s")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    report.figure("memory that watching adds", grown, "MiB", limit=200.0)


async def budget(watched: Watched, report: harness.Report) -> None:
    """Observe for a while; check that the calls stay within the budget."""
    rate = RATE
    watched.set(observer_rate=rate, observer_interval=0.0)
    before, began = await watched.calls(), time.perf_counter()
    async with watched.engine.observing():
        await asyncio.sleep(10.0)
    took = time.perf_counter() - began
    report.figure("calls / budget", (await watched.calls() - before) / (rate * took), "x", limit=1.02)


async def healing(watched: Watched, report: harness.Report) -> None:
    """Let one object in a hundred drift, over two intervals; measure from each change to its repair."""
    interval_s = INTERVAL_S if watched.size > 10_000 else SMALL_S
    watched.set(observer_rate=0.0, observer_interval=interval_s, observer_policy="repair")
    chance, times = random.Random(1), []
    with_id = JournalReality(watched.engine.path / "reality.journal")
    chosen = chance.sample(sorted(with_id.objects), watched.size // 100)
    open_: dict[str, float] = {}
    async with watched.engine.observing():
        begin = time.perf_counter()
        for number, physical_id in enumerate(chosen):
            await with_id.update(physical_id, {"value": "wrong"})
            open_[physical_id] = time.perf_counter()
            pause = begin + 2 * interval_s * (number + 1) / len(chosen) - time.perf_counter()
            await asyncio.sleep(max(0.0, pause))
            times += await _mended(with_id, open_)
        while open_:
            if time.perf_counter() - begin > PATIENCE_S:
                raise SystemExit(f"{len(open_)} were not mended")
            await asyncio.sleep(0.05)
            times += await _mended(with_id, open_)
    with_id.close()
    times.sort()
    report.figure(f"change to repair, 1% drifting, a look each {interval_s:g} s: p50", times[len(times) // 2], "s")
    report.figure(f"change to repair, 1% drifting, a look each {interval_s:g} s: p99", times[int(len(times) * 0.99)], "s")


async def _mended(reality: JournalReality, open_: dict[str, float]) -> list[float]:
    found = []
    for physical_id in list(open_):
        one = await reality.get(physical_id)
        if one is not None and one["value"] == "right":
            found.append(time.perf_counter() - open_.pop(physical_id))
    return found


async def whole(folder: Path, report: harness.Report, *, small: bool) -> None:
    collector.tune()
    watched = Watched(folder, 10 if small else STACKS, 100 if small else MEMBERS)
    report.figure("resources watched", watched.size, "resources")
    try:
        async with watched.engine.driving():
            await watched.make()
            await cost(watched, report)
            await budget(watched, report)
            await healing(watched, report)
    finally:
        watched.engine.close()


def main() -> int:
    options = harness.arguments("What watching costs, and how soon it heals.")
    report = harness.Report("observer", 1)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(whole(Path(folder), report, small=options.small))
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
