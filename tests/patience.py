"""How tests wait: for a condition, with a deadline. `stays` is for what must not happen, which no condition can tell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

#: Nothing in these tests takes longer than a few seconds on an idle machine. A busy one is no failure.
PATIENCE_S = 240.0
#: What does not happen within this time does not happen.
MOMENT_S = 0.3


def until(condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"it did not become so within {within_s:g} s"
        time.sleep(0.01)


async def holds(condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until the condition holds, while the loop goes on."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.01)


async def becomes(condition: Callable[[], Awaitable[object]], within_s: float = PATIENCE_S) -> None:
    """Wait until the condition, which has to be awaited, holds."""
    async with asyncio.timeout(within_s):
        while not await condition():
            await asyncio.sleep(0.01)


async def stays(condition: Callable[[], Awaitable[object]], for_s: float = MOMENT_S) -> None:
    """Assert that the condition holds, again and again, for a while: it fails at once when it does not."""
    end = time.monotonic() + for_s
    while time.monotonic() < end:
        assert await condition()
        await asyncio.sleep(0.01)
    assert await condition()
