"""The service under load: many clients of `isotherm up` at once, over HTTP.

Clients create small stacks, wait for them, list them and delete them, for a minute; unexpected answers and ends of
operations are counted. Then a list of 1,000 stacks is read repeatedly, idle and during the create of a stack of 10,000
resources.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from bench import harness, shapes

ISOTHERM = str(Path(sys.executable).with_name("isotherm"))
CLIENTS = 50
PATIENCE_S = 120.0


@dataclass
class Tally:
    """The counts and times of all clients."""

    times: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    stacks: int = 0


class Client:
    """One client; times and checks each answer."""

    def __init__(self, http: httpx2.AsyncClient, tally: Tally) -> None:
        self._http = http
        self._tally = tally

    async def ask(self, method: str, path: str, expected: tuple[int, ...], body: Any = None) -> Any:
        began = time.perf_counter()
        answer = await self._http.request(method, path, json=body)
        self._tally.times.append(time.perf_counter() - began)
        if answer.status_code not in expected:
            self._tally.wrong.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
        return answer.json() if answer.headers.get("content-type") == "application/json" else answer.status_code

    async def create(self, name: str, template: str) -> str:
        made = await self.ask("POST", "/stacks", (201,), {"stack_name": name, "template": template})
        return f"/stacks/{name}/{made['stack']['id']}"

    async def ended(self, path: str, status: str) -> None:
        """Wait for the end of the operation, and check its status."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            answer = await self.ask("GET", f"{path}?resolve_outputs=false", (200,))
            if "stack" not in answer:
                return
            stack = answer["stack"]
            if not stack["stack_status"].endswith("IN_PROGRESS"):
                if stack["stack_status"] != status:
                    self._tally.wrong.append(f"{path}: {stack['stack_status']} {stack['stack_status_reason']}")
                return
            await asyncio.sleep(0.1)
        self._tally.wrong.append(f"{path}: lost: not {status} within {PATIENCE_S:g} s")

    async def life(self, name: str, template: str) -> None:
        path = await self.create(name, template)
        await self.ended(path, "CREATE_COMPLETE")
        await self.ask("GET", "/stacks?limit=20", (200,))
        await self.ask("DELETE", path, (204,))
        await self.ended(path, "DELETE_COMPLETE")
        self._tally.stacks += 1


@contextmanager
def service() -> Iterator[str]:
    """Run `isotherm up` on a new folder; yield the folder."""
    with tempfile.TemporaryDirectory(prefix="isotherm-bench-") as folder:
        environment = {**os.environ, "ISOTHERM_HOME": folder}
        Path(folder, "isotherm.conf").write_text("[DEFAULT]\nmax_stacks_per_tenant = -1\n")
        process = subprocess.Popen([ISOTHERM, "up", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if "openstack" in line:
                    break
            yield folder
        finally:
            process.terminate()
            process.wait()


@contextlib.asynccontextmanager
async def connected(folder: str) -> AsyncIterator[httpx2.AsyncClient]:
    clouds = Path(folder, "clouds.yaml").read_text()
    root = clouds.split("endpoint: ")[1].split()[0]
    token = Path(folder, "token").read_text().strip()
    limits = httpx2.Limits(max_connections=CLIENTS + 10)
    async with httpx2.AsyncClient(base_url=root, headers={"X-Auth-Token": token}, limits=limits, timeout=60) as http:
        yield http


async def crowd(folder: str, seconds: float) -> Tally:
    """Run many clients, each with one stack after the other."""
    tally, template, until = Tally(), shapes.template("layered", 10), time.monotonic() + seconds

    async def one(http: httpx2.AsyncClient, number: int) -> None:
        for turn in itertools.count():
            if time.monotonic() >= until:
                return
            await Client(http, tally).life(f"c{number}-{turn}", template)

    async with connected(folder) as http:
        await asyncio.gather(*(one(http, number) for number in range(CLIENTS)))
    return tally


async def neighbours(folder: str, stacks: int, big: int) -> tuple[list[float], list[float], list[str]]:
    """Return the seconds of lists of many stacks, idle and during the create of a big stack, and the problems."""
    setup, idle, busy = Tally(), Tally(), Tally()
    async with connected(folder) as http:
        client = Client(http, setup)
        paths = [await client.create(f"n{number}", shapes.template("independent", 1)) for number in range(stacks)]
        for path in paths:
            await client.ended(path, "CREATE_COMPLETE")
        for _ in range(100):
            await Client(http, idle).ask("GET", "/stacks", (200,))
        path = await client.create("big", json.dumps(json.loads(shapes.template("layered", big))))
        done = asyncio.create_task(client.ended(path, "CREATE_COMPLETE"))
        while not done.done():
            await Client(http, busy).ask("GET", "/stacks", (200,))
        await done
    return idle.times, busy.times, [*setup.wrong, *idle.wrong, *busy.wrong]


def p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


def main() -> int:
    options = harness.arguments(__doc__ or "")
    report = harness.Report("api", 1)
    seconds, stacks, big = (5.0, 100, 1_000) if options.small else (60.0, 1_000, 10_000)
    with service() as folder:
        tally = asyncio.run(crowd(folder, seconds))
    report.figure(f"{CLIENTS} clients: requests", len(tally.times) / seconds, "per second")
    report.figure(f"{CLIENTS} clients: stacks made and deleted", tally.stacks / seconds, "per second")
    report.figure(f"{CLIENTS} clients: p50 of a request", statistics.median(tally.times) * 1000, "ms")
    report.figure(f"{CLIENTS} clients: p99 of a request", p99(tally.times) * 1000, "ms")
    with service() as folder:
        idle, busy, wrong = asyncio.run(neighbours(folder, stacks, big))
    wrong = [*tally.wrong, *wrong]
    report.figure("answers that were wrong, operations that were lost", len(wrong), "", limit=0)
    report.figure(f"list of {stacks} idle: p99", p99(idle) * 1000, "ms")
    report.figure(f"list of {stacks} while {big} are made: p99 / idle p99", p99(busy) / p99(idle), "x", limit=5.0)
    for line in wrong[:10]:
        print(line, file=sys.stderr)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
