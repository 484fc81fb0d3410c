"""A group of 1,000 members against 1,000 resources in one template: making them, adding ten, and reading them all.

Both sides do the same to reality and leave the same rows, except for one stack and one resource more. Each run is a whole
life cycle in a folder of its own; the sides alternate. The measure is processor time, on which disk and other load have
little influence.
"""

from __future__ import annotations

import asyncio
import json
import statistics
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

SIZE, MORE = 1000, 10
LIMIT = 1.3
# Allowed beside the cost of the ten: twice the reading of a template of this number of members.
READING = 2.0


def _member(number: int) -> dict[str, Any]:
    return {"type": "OS::Heat::TestResource", "properties": {"value": f"member {number}"}}


def plain(size: int) -> Request:
    resources = {str(number): _member(number) for number in range(size)}
    outputs = {"all": {"value": [{"get_attr": [name, "output"]} for name in resources]}}
    return Request(json.dumps({"heat_template_version": "2021-04-16", "resources": resources, "outputs": outputs}))


def grouped(size: int) -> Request:
    pattern = {"type": "OS::Heat::TestResource", "properties": {"value": "member %index%"}}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"count": size, "resource_def": pattern}}
    outputs = {"all": {"value": {"get_attr": ["g", "output"]}}}
    return Request(json.dumps({"heat_template_version": "2021-04-16", "resources": {"g": group}, "outputs": outputs}))


async def _timed(engine: Embedded, asked: Awaitable[Any]) -> float:
    began = time.process_time()
    accepted = await asked
    while (stack := await engine.orchestrator.stacks.find(accepted.stack_id, deleted=True))["status"] == "IN_PROGRESS":
        await asyncio.sleep(0.01)
    if stack["status"] != "COMPLETE":
        raise SystemExit(f"{stack['stack_status']}: {stack['stack_status_reason']}")
    return time.process_time() - began


async def _life(folder: Path, request: Any) -> dict[str, float]:
    engine, found = Embedded(folder), {}
    api = engine.orchestrator
    async with engine.driving():
        found["create"] = await _timed(engine, api.stacks.create("s", request(SIZE)))
        began = time.process_time()
        [read] = await api.outputs.list("s")
        found["read"] = time.process_time() - began
        if len(read["output_value"]) != SIZE:
            raise SystemExit("not all members can be read")
        found["no-op"] = await _timed(engine, api.stacks.update("s", request(SIZE)))
        found["add ten"] = await _timed(engine, api.stacks.update("s", request(SIZE + MORE)))
        found["delete"] = await _timed(engine, api.stacks.delete("s"))
    engine.close()
    return found


def _run(request: Any) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as folder:
        return asyncio.run(_life(Path(folder), request))


def main() -> int:
    report = harness.Report("groups", harness.arguments("Groups against plain resources.").runs)
    collector.tune()
    pairs = [(_run(grouped), _run(plain)) for _ in range(report.runs)]
    for what in pairs[0][0]:
        for side, name in enumerate(("group", "plain")):
            report.figure(f"{what}, {SIZE:,} members, {name}", statistics.median(pair[side][what] for pair in pairs), "s")
        limit = LIMIT if what in ("create", "delete") else READING if what == "add ten" else None
        ratio = statistics.median(pair[0][what] / pair[1][what] for pair in pairs)
        report.figure(f"{what}: a group / plain resources", ratio, "x", limit=limit)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
