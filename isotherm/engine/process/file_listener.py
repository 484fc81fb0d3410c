"""Watches the SQLite database of a folder for writes of other processes, so that a worker searches for work at once.

SQLite writes everything into the write-ahead log first. Reading its size and time is one system call and takes no lock. A
write is only a hint: a worker that misses it searches by itself soon after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

PERIOD_S = 0.05


async def watch(database: Path, changed: Callable[[], None]) -> None:
    """Call `changed` whenever a process has written to the database, until cancelled."""
    log = database.with_name(f"{database.name}-wal")
    before = _stamp(log)
    while True:
        await asyncio.sleep(PERIOD_S)
        now = _stamp(log)
        if now != before:
            before = now
            changed()


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
