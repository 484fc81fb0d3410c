"""Hears that another process has written to the database of a folder: where requests are accepted elsewhere, a worker
need not wait for its next look.

SQLite writes everything into one file first, and a file that has not changed has nothing new in it. Looking at its size
and time is a system call, and takes no lock. It is only a hint: a worker that misses it looks by itself soon after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

PERIOD_S = 0.05


async def changes(database: Path, told: Callable[[], None]) -> None:
    """Tell whenever the database was written to, by whomever; until cancelled."""
    log = database.with_name(f"{database.name}-wal")
    before = _stamp(log)
    while True:
        await asyncio.sleep(PERIOD_S)
        now = _stamp(log)
        if now != before:
            before = now
            told()


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
