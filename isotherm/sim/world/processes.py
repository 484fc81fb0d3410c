"""Processes of the simulated world: owners of callbacks, which can be killed or paused.

A killed process stops between two callbacks for good: not even its `finally` blocks run. A paused process is like a machine
that was suspended: it does not notice the time that passed.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

OWNER: ContextVar[Process | None] = ContextVar("OWNER", default=None)


class Process:
    """A process that can be killed or paused. Workers and observers are `killable`; clients are not."""

    def __init__(self, name: str, *, killable: bool = False, since: float = 0.0) -> None:
        self.name = name
        self.killable = killable
        self.alive = True
        # The time of its start, or of its last resume.
        self.since = since
        self.paused = False
        self.held: list[asyncio.Handle] = []

    def __repr__(self) -> str:
        return self.name

    def runs(self, handle: asyncio.Handle) -> bool:
        """Return whether the callback may run now; keep it if the process is paused or killed."""
        if self.alive and not self.paused:
            return True
        self.held.append(handle)
        return False


def current() -> Process | None:
    return OWNER.get()
