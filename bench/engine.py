"""The convergence engine in one process on SQLite: throughput, growth, no-op and small updates, memory, and hops.

The yardstick is bare sqlite3 writing the same rows (for each resource an insert, two updates and two events, into the
tables that the engine has, with rows that the engine wrote) in batches of 100 with the same durability. Each engine run is
a process of its own, so that runs do not share memory.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bench import harness, shapes
from isotherm import collector
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.planning.desired import Identity, StackInput, desire
from isotherm.resources import builtin
from isotherm.store import tables as t

OPERATIONS = ("create", "no-op", "update all", "delete")


# One run of the engine, in a process of its own.


async def _timed(engine: Embedded, asked: Awaitable[Any]) -> dict[str, float]:
    commits, began, worked, pace = engine.store.commits, time.perf_counter(), time.process_time(), harness.Pace()
    accepted = await asked
    pace.tick()
    while (stack := await engine.orchestrator.stacks.find(accepted.stack_id, deleted=True))["status"] == "IN_PROGRESS":
        await asyncio.sleep(0.01)
        pace.tick()
    if stack["status"] != "COMPLETE":
        raise SystemExit(f"{stack['stack_status']}: {stack['stack_status_reason']}")
    return {"seconds": time.perf_counter() - began, "ticks": pace.ticks(time.process_time() - worked - pace.seconds),
            "commits": engine.store.commits - commits}


async def _life(folder: Path, shape: str, size: int) -> dict[str, Any]:
    """Measure create, no-op update, change of ten, change of all, delete, and reading the template alone."""
    collector.tune()
    engine = Embedded(folder)
    api, found = engine.orchestrator, {}
    same = Request(shapes.template(shape, size))
    async with engine.driving():
        found["create"] = await _timed(engine, api.stacks.create("s", same))
        sample = await engine.store.read(lambda c: dict(c.execute(sa.select(t.resources).limit(1)).mappings().one()))
        found["read"] = {"seconds": harness.seconds(lambda: _read(same.template))}
        found["no-op"] = await _timed(engine, api.stacks.update("s", same))
        ten = Request(shapes.template(shape, size, "y", changed=10))
        found["change ten"] = await _timed(engine, api.stacks.update("s", ten))
        found["update all"] = await _timed(engine, api.stacks.update("s", Request(shapes.template(shape, size, "z"))))
        found["delete"] = await _timed(engine, api.stacks.delete("s"))
    engine.close()
    found["bare"] = {"seconds": bare(folder / "bare.db", size, sample)}
    found["memory"] = {"mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    return found


def _read(template: str) -> None:
    desire(StackInput(template, {}, {}), Identity("s", "id", "project"), builtin.registry())


def bare(path: Path, size: int, sample: dict[str, Any]) -> float:
    """Return the seconds that sqlite3 alone takes to write the rows of this number of resources."""
    engine = sa.create_engine(f"sqlite:///{path}")
    t.metadata.create_all(engine, [t.resources, t.events])
    engine.dispose()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    columns = [name for name in sample if name not in ("id", "name")]
    values = tuple(sample[name] for name in columns)
    event = ("INSERT INTO events (stack_id, operation_id, name, type, physical_id, action, status, reason, created_at) "
             "VALUES (?, ?, ?, ?, ?, 1, ?, '', ?)")
    said = (sample["stack_id"], sample["operation_id"])
    steps: list[tuple[str, Callable[[int], tuple[Any, ...]]]] = [
        (f"INSERT INTO resources (id, name, {', '.join(columns)}) VALUES (?, ?{', ?' * len(columns)})",
         lambda i: (i, f"r{i}", *values)),
        ("UPDATE resources SET status = 1, intent = ?, updated_at = ? WHERE id = ?",
         lambda i: (sample["properties"], 1.0, i)),
        (event, lambda i: (*said, f"r{i}", sample["type"], None, 1, 1.0)),
        ("UPDATE resources SET status = 2, physical_id = ?, properties = ?, published = ?, intent = NULL, updated_at = ? "
         "WHERE id = ?", lambda i: (f"s-r{i}-0123456789ab", sample["properties"], sample["published"], 2.0, i)),
        (event, lambda i: (*said, f"r{i}", sample["type"], f"s-r{i}-0123456789ab", 2, 2.0)),
    ]
    began = time.perf_counter()
    for statement, row in steps:
        for start in range(0, size, 100):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, [row(i) for i in range(start, min(start + 100, size))])
            connection.execute("COMMIT")
    taken = time.perf_counter() - began
    connection.close()
    return taken


# The figures.


def _run(shape: str, size: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="isotherm-bench-"))
    try:
        command = [sys.executable, "-m", "bench.engine", "--life", shape, str(size), str(folder)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        found: dict[str, Any] = json.loads(answer.stdout)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _terraform(report: harness.Report, shape: str, size: int, ours: float) -> None:
    """Report terraform's time to apply the same shape of terraform_data resources over our time of a create."""
    made = json.loads(shapes.template(shape, size))["resources"]
    blocks = {
        name: {"input": one["properties"]["value"],
               "depends_on": [f"terraform_data.{need}" for need in one.get("depends_on", [])]}
        for name, one in made.items()
    }
    with tempfile.TemporaryDirectory(prefix="isotherm-terraform-") as folder:
        Path(folder, "main.tf.json").write_text(json.dumps({"resource": {"terraform_data": blocks}}))
        environment = {**os.environ, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
        try:
            subprocess.run(["terraform", "init", "-input=false"], cwd=folder, check=True, capture_output=True,
                           env=environment)
            began = time.perf_counter()
            subprocess.run(["terraform", "apply", "-auto-approve", "-input=false"], cwd=folder, check=True,
                           capture_output=True, env=environment)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"terraform could not be measured: {error}", file=sys.stderr)
            return
        report.figure(f"{shape} {size} create: terraform / ours", (time.perf_counter() - began) / ours, "x")


def main() -> int:
    options = harness.arguments(__doc__ or "", lambda parser: parser.add_argument(
        "--shape", action="append", choices=list(shapes.SHAPES), help="only this one; may be given several times"))
    report = harness.Report("engine", options.runs)
    sizes = (10, 100, 1_000) if options.small else (100, 1_000, 10_000, 100_000)
    medians: dict[tuple[str, int, str], float] = {}
    for shape in options.shape or shapes.SHAPES:
        for size in sizes:
            # A long chain waits for the disk most of the time and takes many minutes: run it once.
            once = shape == "chain" and size >= 10_000
            runs = [_run(shape, size) for _ in range(1 if once else options.runs)]
            _figures(report, shape, size, runs, medians, judged=size == min(10_000, sizes[-1]))
            print(f"  engine: {shape} {size} done", file=sys.stderr)
            if size == sizes[1] and shutil.which("terraform"):
                _terraform(report, shape, size, medians[shape, size, "create"])
        for small, big in itertools.pairwise(sizes[1:]):
            growth = medians[shape, big, "create: ticks"] / medians[shape, small, "create: ticks"]
            report.figure(f"{shape} create: {small} to {big}", growth, "x of processor time", limit=11.0)
    return report.close()


def _figures(
    report: harness.Report, shape: str, size: int, runs: list[dict[str, Any]],
    medians: dict[tuple[str, int, str], float], *, judged: bool,
) -> None:
    """Report the figures. With `judged`, compare them with the limits."""
    def median(ratio: Any) -> float:
        return float(statistics.median(ratio(run) for run in runs))

    report.runs = len(runs)
    for operation in OPERATIONS:
        seconds = median(lambda run, operation=operation: run[operation]["seconds"])
        medians[shape, size, operation] = seconds
        # Growth is in ticks of processor time: over minutes, other load on the machine changes every other measure.
        medians[shape, size, f"{operation}: ticks"] = median(lambda run, operation=operation: run[operation]["ticks"])
        report.figure(f"{shape} {size} {operation}", seconds / size * 1e6, "us per resource")
    create = median(lambda run: run["create"]["seconds"] / run["bare"]["seconds"])
    report.figure(f"{shape} {size} create / bare sqlite3", create, "x",
                  limit=10.0 if shape == "layered" and judged else None)
    if shape == "chain" and size <= 10_000:
        hops = median(lambda run: run["create"]["commits"] / size)
        report.figure(f"chain {size} commits per hop", hops, "commits", limit=3.0)
    if shape == "layered" and judged:
        idle = median(lambda run: run["no-op"]["seconds"] / run["read"]["seconds"])
        report.figure(f"layered {size} no-op / read the template", idle, "x", limit=1.5)
        ten = median(lambda run: run["change ten"]["seconds"] / run["no-op"]["seconds"])
        report.figure(f"layered {size} change ten / no-op", ten, "x", limit=1.5)
    if size >= 100_000:
        report.figure(f"{shape} {size} peak memory", median(lambda run: run["memory"]["mebibytes"]), "MiB", limit=1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--life"]:
        print(json.dumps(asyncio.run(_life(Path(sys.argv[4]), sys.argv[2], int(sys.argv[3])))))
        sys.exit(0)
    sys.exit(main())
