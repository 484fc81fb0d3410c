"""Members of the fault test: engines and APIs as processes, and the tests of their state from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from tools.torture.proxy import Proxy

ENGINE, API = "engine", "api"


@dataclass(slots=True)
class Member:
    """An engine or an API: its kind, its host, and its current process."""

    name: str
    kind: str
    home: Path
    port: int = 0
    proxies: dict[str, Proxy] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    #: Set when it has reported that it serves.
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    #: Whether the supervisor must not restart it.
    held: bool = False
    killed: bool = False
    lives: int = 0

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)


async def first_word(process: asyncio.subprocess.Process) -> bool:
    """Return whether the process has reported its start: a JSON object over several lines, without an error."""
    assert process.stdout is not None
    said = b""
    while line := await process.stdout.readline():
        said += line
        if line == b"}\n":
            return "problems" not in json.loads(said)
    return False


def is_free(file: Path) -> bool:
    """Return whether the database can be written within the time that other writers take."""
    with contextlib.closing(sqlite3.connect(file, timeout=2.0, isolation_level=None)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        database.execute("ROLLBACK")
        return True


def children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []
