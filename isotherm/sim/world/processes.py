"""Processes of the simulated world: who a callback belongs to, and whether it may run.

A process that is killed stops between two callbacks, for good: nothing of it runs any more, no `finally`, no `except`.
A paused one is a machine that was suspended: it knows nothing of the time that passed.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

OWNER: ContextVar[Process | None] = ContextVar("OWNER", default=None)


class Process:
    """Something that can be killed or paused. Only workers are `mortal`: clients and the world itself live on."""

    def __init__(self, name: str, *, mortal: bool = False, since: float = 0.0) -> None:
        self.name = name
        self.mortal = mortal
        self.alive = True
        # Since when it has been up without a break.
        self.since = since
        self.paused = False
        self.held: list[asyncio.Handle] = []

    def __repr__(self) -> str:
        return self.name

    def runs(self, handle: asyncio.Handle) -> bool:
        """Whether the callback may run now. One that may not is kept: it belongs to a process that is paused or dead."""
        if self.alive and not self.paused:
            return True
        self.held.append(handle)
        return False


def current() -> Process | None:
    return OWNER.get()
