"""The rate at which an observer may call services: so many calls in a second for each project and type.

A caller over the rate sleeps here; callers for another project or type are not delayed. This limits calls over time. The
number of steps that run at once is limited elsewhere: by type in `engine.steps.throttle`, and in turns by project and
stack in `engine.legacy.fair_semaphore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# Unused calls of this time may be made at once.
_BURST_S = 0.1
# A shorter sleep costs more than it saves.
_LEAST_S = 0.002


class RateLimit:
    """Spreads calls over time. Observers that run at the same time share one rate."""

    def __init__(
        self, rate: float, now: Callable[[], float] | None = None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """`rate` is in calls per second; 0 means unlimited."""
        self._rate = rate
        self._shares = 1
        self._now = now
        self._sleep = sleep
        self._free_at: dict[tuple[str, str], float] = {}

    def share(self, observers: int) -> None:
        """Divide the rate by the number of live observers."""
        self._shares = max(1, observers)

    @property
    def rate(self) -> float:
        """The share of this observer, in calls per second."""
        return self._rate / self._shares

    async def take(self, project: str, type_: str, calls: int = 1) -> None:
        """Return when so many calls may be made."""
        if not self._rate:
            return
        now = asyncio.get_running_loop().time() if self._now is None else self._now()
        key = (project, type_)
        begin = max(self._free_at.get(key, 0.0), now - _BURST_S)
        self._free_at[key] = begin + calls / self.rate
        if begin - now > _LEAST_S:
            await self._sleep(begin - now)
