"""How often the observer may ask: so many calls in a second for each project and type, and never many at once.

A cloud that is asked too often is slow for everybody. Whoever has to wait for his turn waits here, and others, who ask
another cloud or for another project, pass by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# So much of what was not used may be caught up with at once.
_BURST_S = 0.1
# Waiting for less costs more than it spares.
_LEAST_S = 0.002


class RateLimit:
    """Hands out calls."""

    def __init__(
        self, rate: float, now: Callable[[], float] | None = None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """`rate`: calls in a second, 0: any number."""
        self._rate = rate
        self._shares = 1
        self._now = now
        self._sleep = sleep
        self._free_at: dict[tuple[str, str], float] = {}

    def share(self, observers: int) -> None:
        """So many observers have the budget together."""
        self._shares = max(1, observers)

    @property
    def rate(self) -> float:
        """What this observer has of it."""
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
