"""Several engines on PostgreSQL and RabbitMQ: their cost over one process on SQLite, and the gain of a second engine.

The services are private, and started here. Each engine is a process of its own, as with `isotherm engine`; it also counts
its statements and messages. Requests are accepted in this process.

- layered 10,000: two engines, over one process on SQLite
- 1,000 resources each of which keeps its engine waiting for 100 ms: two engines, over one with the same concurrency
- 10,000 stacks of ten: the last tenth over the first; lists; the memory of each engine
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench import harness, shapes
from isotherm import collector
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.resources import contract
from isotherm.store.reads.stack_list import StackQuery
from tools import services

SERVICES = ("postgresql", "rabbitmq")
WAIT_S, CONCURRENCY = 0.1, 25
PATIENCE_S = 600.0


class Elsewhere(contract.Resource):
    """A resource whose object is not in the engine's memory, unlike those of the test types."""

    TYPE = "Bench::Elsewhere"
    DESCRIPTION = "Is somewhere else."

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        return None

    async def handle_delete(self) -> object:
        return None


class Slow(Elsewhere):
    """A resource whose step takes a while, as with a slow service."""

    TYPE = "Bench::Slow"
    DESCRIPTION = "Takes its time."

    async def handle_create(self) -> object:
        await asyncio.sleep(WAIT_S)
        return await super().handle_create()


def _template(type_: type[Elsewhere], size: int) -> str:
    resources = {f"r{i}": {"type": type_.TYPE} for i in range(size)}
    return json.dumps({"heat_template_version": "2018-08-31", "resources": resources})


def _opened(folder: Path) -> Embedded:
    engine = Embedded(folder)
    engine.types.register(Elsewhere)
    engine.types.register(Slow)
    return engine


# An engine, in a process of its own.


async def _engine(folder: Path) -> None:
    collector.tune()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    engine, statements = _opened(folder), 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1

    for one in (engine.store._engine, engine.store._reader):
        sa.event.listen(one, "before_cursor_execute", count)
    async with engine.on_bus(), engine.driving():
        print("ready", flush=True)
        await stop.wait()
    print(json.dumps({"statements": statements, "messages": engine.bus.counts.published}), flush=True)
    engine.close()


class Engines:
    """Engines at work on a folder."""

    def __init__(self) -> None:
        self.counts: list[dict[str, float]] = []
        self._pids: list[int] = []

    @contextlib.asynccontextmanager
    async def running(self, folder: Path, number: int) -> AsyncIterator[None]:
        command = [sys.executable, "-m", "bench.cluster", "--engine", str(folder)]
        started = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(number)]
        self._pids = [one.pid for one in started]
        try:
            for one in started:
                assert one.stdout is not None
                await one.stdout.readline()
            yield
        finally:
            for one in started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGTERM)
            outputs = [(await one.communicate())[0] for one in started]
        self.counts = [json.loads(one) for one in outputs]

    def total(self, what: str) -> float:
        return sum(one[what] for one in self.counts)

    def peak(self) -> float:
        """Return the peak memory of the largest running engine, in MiB."""
        texts = (Path(f"/proc/{pid}/status").read_text() for pid in self._pids)
        return max(int(text.split("VmHWM:")[1].split()[0]) / 1024 for text in texts)


# The measurements.


class Cluster:
    """A database server and a broker, and folders on them."""

    def __init__(self, found: dict[str, services.Running]) -> None:
        self._database, self._broker = found["postgresql"].url, found["rabbitmq"].url
        self.engines = Engines()

    @contextlib.contextmanager
    def folder(self, concurrency: int = 1000) -> Any:
        """Return a folder on an empty database."""
        server = sa.create_engine(self._database)
        with server.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
        server.dispose()
        with tempfile.TemporaryDirectory(prefix="isotherm-cluster-") as name:
            Path(name, "isotherm.conf").write_text(
                f"[DEFAULT]\ntransport_url = {self._broker}\nengine_concurrency = {concurrency}\n"
                "max_stacks_per_tenant = -1\n"
                f"[database]\nconnection = {self._database}\n")
            yield Path(name)

    async def create(self, template: str, engines: int, concurrency: int = 1000) -> float:
        """Return the seconds that this number of engines takes to create a stack."""
        with self.folder(concurrency) as folder, contextlib.closing(_opened(folder)) as asked:
            async with asked.on_bus(), self.engines.running(folder, engines):
                return await _seconds(asked, asked.orchestrator.stacks.create("s", Request(template, timeout_s=None)))


async def _seconds(engine: Embedded, asked: Awaitable[Any]) -> float:
    began = time.perf_counter()
    accepted = await asked
    async with asyncio.timeout(PATIENCE_S):
        while (stack := await engine.orchestrator.stacks.find(accepted.stack_id))["status"] == "IN_PROGRESS":
            await asyncio.sleep(0.02)
    if stack["status"] != "COMPLETE":
        raise SystemExit(f"{stack['stack_status']}: {stack['stack_status_reason']}")
    return time.perf_counter() - began


async def _alone(template: str) -> float:
    """Return the seconds that one process on SQLite takes."""
    with (tempfile.TemporaryDirectory(prefix="isotherm-cluster-") as name,
          contextlib.closing(Embedded(Path(name))) as engine):
        async with engine.driving():
            return await _seconds(engine, engine.orchestrator.stacks.create("s", Request(template, timeout_s=None)))


async def _throughput(report: harness.Report, cluster: Cluster, size: int) -> None:
    template, ratios = shapes.template("layered", size), []
    for _ in range(report.runs):
        alone = await _alone(template)
        ratios.append(await cluster.create(template, engines=2) / alone)
    report.figure(f"layered {size} create: two engines on PostgreSQL / one process on SQLite", statistics.median(ratios),
                  "x", limit=3.0)
    engines = cluster.engines
    report.figure(f"layered {size} create: statements", engines.total("statements") / size, "per resource", limit=10.0)
    report.figure(f"layered {size} create: messages", engines.total("messages") / size, "per resource", limit=1.0)


async def _second_engine(report: harness.Report, cluster: Cluster, size: int) -> None:
    template, ratios = _template(Slow, size), []
    for _ in range(report.runs):
        one = await cluster.create(template, engines=1, concurrency=CONCURRENCY)
        ratios.append(await cluster.create(template, engines=2, concurrency=CONCURRENCY) / one)
    report.figure(f"{size} that wait {WAIT_S * 1000:.0f} ms each: two engines / one", statistics.median(ratios), "x",
                  limit=0.6)
    report.figure(f"{size} that wait: messages", cluster.engines.total("messages") / size, "per resource", limit=1.0)


async def _many(report: harness.Report, cluster: Cluster, count: int) -> None:
    report.runs = 1
    template = Request(_template(Elsewhere, 10), timeout_s=None)
    with cluster.folder() as folder, contextlib.closing(_opened(folder)) as asked:
        async with asked.on_bus(), cluster.engines.running(folder, 2):
            tenth, times, lists, memory = count // 10, [], [], []
            for first in range(0, count, tenth):
                times.append(await _made(asked, template, range(first, first + tenth)))
                lists.append(await _listed(asked))
                memory.append(cluster.engines.peak())
                print(f"  cluster: {first + tenth} stacks, {tenth / times[-1]:.0f} a second", file=sys.stderr)
    report.figure(f"{count} stacks of ten: made", count / sum(times), "stacks per second")
    report.figure(f"{count} stacks of ten: the last tenth / the first", times[-1] / times[0], "x of time", limit=1.5)
    report.figure(f"{count} stacks of ten: a list of 100, at the end / at a tenth", lists[-1] / lists[0], "x of time",
                  limit=2.0)
    report.figure(f"{count} stacks of ten: memory of an engine", memory[-1], "MiB")
    report.figure(f"{count} stacks of ten: memory of an engine, at the end / at a tenth", memory[-1] / memory[0], "x",
                  limit=1.2)


async def _made(engine: Embedded, request: Request, numbers: range) -> float:
    """Return the seconds to create these stacks, a hundred at a time."""
    began, api = time.perf_counter(), engine.orchestrator

    async def one(number: int) -> None:
        accepted = await api.stacks.create(f"s{number}", request)
        while (await api.stacks.find(accepted.stack_id))["status"] == "IN_PROGRESS":
            await asyncio.sleep(0.1)

    for first in range(0, len(numbers), 100):
        await asyncio.gather(*(one(number) for number in numbers[first:first + 100]))
    return time.perf_counter() - began


async def _listed(engine: Embedded) -> float:
    """Return the median seconds of the first page of the list of stacks."""
    async def once() -> float:
        began = time.perf_counter()
        await engine.orchestrator.stacks.page(StackQuery(limit=100))
        return time.perf_counter() - began

    return statistics.median([await once() for _ in range(15)])


async def _measure(options: Any) -> int:
    report = harness.Report("cluster", options.runs)
    scale = 10 if options.small else 1
    steps: tuple[tuple[Callable[..., Awaitable[None]], int], ...] = (
        (_throughput, 10_000), (_second_engine, 1000), (_many, 10_000))
    with services.running(SERVICES) as found:
        cluster = Cluster(found)
        for step, size in steps:
            await step(report, cluster, size // scale)
    return report.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--engine"]:
        asyncio.run(_engine(Path(sys.argv[2])))
        sys.exit(0)
    sys.exit(asyncio.run(_measure(harness.arguments(__doc__ or ""))))
