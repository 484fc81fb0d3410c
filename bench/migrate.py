"""The time of the migration from the legacy path to convergence, and its growth with five times as many stacks.

The legacy engine creates the stacks: of twenty resources each, every fifth with half of them in a nested stack, and every
twentieth with an operation in progress, which is not migrated. It does so in a process of its own, so that the measurement
is that of `heat-manage migrate-convergence-1 --all` alone. The ratio is of processor time, on which other load has little
influence.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import harness
from isotherm import collector
from isotherm.engine.admin.migrate import Migrator, Outcome
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded, new_id

RESOURCES, FEW, MANY = 20, 100, 500
FILL = "--fill"
LINEAR = 1.2


def template(size: int, *, inside: bool) -> str:
    lines = ["heat_template_version: 2021-04-16", "resources:"]
    for number in range(size):
        needs = f"{{get_attr: [r{number - 1}, output]}}" if number % 4 else f"v{number}"
        lines.append(f"  r{number}: {{type: OS::Heat::TestResource, properties: {{value: {needs}}}}}")
    if inside:
        lines.append("  inside: {type: leaf.yaml}")
    return "\n".join(lines)


PLAIN = Request(template(RESOURCES, inside=False))
NESTED = Request(template(RESOURCES // 2, inside=True), {"leaf.yaml": template(RESOURCES // 2 - 1, inside=False)})


def busy(count: int) -> range:
    """Return the numbers of the stacks with an operation in progress."""
    return range(7, count, 20)


async def fill(engine: Embedded, count: int) -> None:
    """Create the stacks."""
    async with engine.driving():
        for number in range(count):
            await engine.orchestrator.stacks.create(f"s{number:04}", NESTED if number % 5 == 0 else PLAIN)
        while any(one["status"] == "IN_PROGRESS" for one in await engine.orchestrator.stacks.list()):
            await asyncio.sleep(0.2)
    for number in busy(count):
        await engine.orchestrator.stacks.check(f"s{number:04}")


async def migrated(engine: Embedded, count: int) -> tuple[float, float]:
    """Migrate all stacks; return the seconds, and the seconds of processor time."""
    migrating = Migrator(engine.store, engine.types, engine.clock, new_id)
    began, worked = time.perf_counter(), time.process_time()
    reports = [await migrating.migrate(root) for root in await migrating.roots()]
    spent, work = time.perf_counter() - began, time.process_time() - worked
    outcomes = [one.outcome for one in reports]
    if (outcomes.count(Outcome.MIGRATED), outcomes.count(Outcome.REFUSED)) != (count - len(busy(count)), len(busy(count))):
        raise SystemExit(f"migrate: {outcomes.count(Outcome.MIGRATED)} of {count} were migrated")
    if any(one.unproven for one in reports):
        raise SystemExit("migrate: an update would have to look at resources")
    return spent, work


def filled(folder: Path, count: int) -> Path:
    """Return a home with this number of stacks, to be copied for each measurement."""
    folder.mkdir()
    (folder / "isotherm.conf").write_text("[DEFAULT]\nconvergence_engine = false\n")
    subprocess.run([sys.executable, "-m", "bench.migrate", FILL, str(folder), str(count)], check=True)
    return folder


def measured(home: Path, count: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(home, folder, dirs_exist_ok=True)
        gc.collect()
        with contextlib.closing(Embedded(Path(folder))) as engine:
            return asyncio.run(migrated(engine, count))


def main() -> int:
    if sys.argv[1:2] == [FILL]:
        with contextlib.closing(Embedded(Path(sys.argv[2]))) as engine:
            asyncio.run(fill(engine, int(sys.argv[3])))
        return 0
    collector.tune()
    options = harness.arguments("From the legacy path to convergence: seconds per stack, and whether it is linear.")
    report = harness.Report("migrate", options.runs)
    few, many = (FEW // 10, MANY // 10) if options.small else (FEW, MANY)
    with tempfile.TemporaryDirectory() as folder:
        homes = [(filled(Path(folder) / str(count), count), count) for count in (few, many)]
        pairs = [[measured(*home) for home in homes] for _ in range(options.runs)]
    for count, index in ((few, 0), (many, 1)):
        report.figure(f"{count} stacks of {RESOURCES} resources", statistics.median(pair[index][0] for pair in pairs), "s")
        report.figure(f"{count} stacks: each", statistics.median(pair[index][0] for pair in pairs) / count, "s")
    ratio = statistics.median((pair[1][1] / many) / (pair[0][1] / few) for pair in pairs)
    report.figure(f"one of {many} / one of {few}", ratio, "x", limit=LINEAR)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
