"""Runs work that needs much CPU, such as parsing a large template, without blocking the event loop.

The simulator and commands run it in place, in order; a service runs large work on a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

T = TypeVar("T")
# Size of a template that is parsed within a few milliseconds.
SMALL = 32_768


class Compute(Protocol):
    """Runs work in place or on a thread; `size` is that of the texts it reads."""

    async def __call__(self, size: int, work: Callable[[], T]) -> T: ...


def weight(value: object) -> int:
    """Return the size of data: one for each character and for each other value."""
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, Mapping):
        return 1 + sum(weight(key) + weight(one) for key, one in value.items())
    return 1 + sum(map(weight, value)) if isinstance(value, list | tuple) else 1


async def here(size: int, work: Callable[[], T]) -> T:
    return work()


async def beside(size: int, work: Callable[[], T]) -> T:
    return work() if size <= SMALL else await asyncio.to_thread(work)
