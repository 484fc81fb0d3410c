"""One million resources in one stack tree: groups of a thousand, created, updated with no change, and deleted.

Not part of `make bench`, since it takes long (`make bench-million`). Each size runs in a process of its own; it reports
time and memory, and the growth from each size to the next, which should be that of the number of resources. Growth is in
processor time, since other load on a shared machine varies within the minutes of the large run.
"""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from bench import harness
from isotherm import collector
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded

MEMBERS = 1000
OPERATIONS = ("create", "no-op", "delete")


def template(groups: int) -> str:
    member = {"type": "OS::Heat::TestResource", "properties": {"value": "%index%"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": MEMBERS, "resource_def": member}}
    return json.dumps({"heat_template_version": "2018-08-31", "resources": {f"g{i}": group for i in range(groups)}})


async def _timed(engine: Embedded, asked: Awaitable[Any]) -> tuple[float, float]:
    """Return the seconds of wall time, and of processor time."""
    began, busy = time.perf_counter(), time.process_time()
    accepted = await asked
    while (stack := await engine.orchestrator.stacks.find(accepted.stack_id, deleted=True))["status"] == "IN_PROGRESS":
        await asyncio.sleep(0.2)
    if stack["status"] != "COMPLETE":
        raise SystemExit(f"{stack['stack_status']}: {stack['stack_status_reason']}")
    return time.perf_counter() - began, time.process_time() - busy


async def _life(folder: Path, groups: int) -> dict[str, Any]:
    collector.tune()
    engine = Embedded(folder)
    api, request = engine.orchestrator, Request(template(groups), timeout_s=None)
    found: dict[str, Any] = {}
    async with engine.driving():
        found["create"] = await _timed(engine, api.stacks.create("s", request))
        found["no-op"] = await _timed(engine, api.stacks.update("s", request))
        found["delete"] = await _timed(engine, api.stacks.delete("s"))
    engine.close()
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def _run(groups: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="isotherm-million-"))
    try:
        command = [sys.executable, "-m", "bench.million", "--life", str(groups), str(folder)]
        found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    options = harness.arguments(__doc__ or "")
    report = harness.Report("million", runs=1)
    before: dict[str, Any] = {}
    for groups in (1, 10, 100) if options.small else (10, 100, 1000):
        size = groups * MEMBERS
        found = _run(groups)
        for operation in OPERATIONS:
            wall, busy = found[operation]
            report.figure(f"{size} {operation}", wall, "s")
            report.figure(f"{size} {operation}, each", busy / size * 1e6, "us of processor time per resource")
        report.figure(f"{size} peak memory", found["memory"], "MiB", limit=2048)
        if before:
            for operation in ("create", "delete"):
                growth = found[operation][1] / before[operation][1] / 10
                report.figure(f"growth of {operation} to {size}, over that of the number", growth, "x", limit=1.2)
        before = found
    return report.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--life"]:
        print(json.dumps(asyncio.run(_life(Path(sys.argv[3]), int(sys.argv[2])))))
        sys.exit(0)
    sys.exit(main())
