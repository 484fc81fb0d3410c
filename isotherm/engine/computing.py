"""Where work is done that needs the processor for long: reading a big template must not keep everybody else waiting.

The simulator and commands do it on the spot, in order; a service hands what is big to a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
# Bytes of template that are read within a few milliseconds.
_SMALL = 32_768


class Compute(Protocol):
    """Does the work; `size` is that of the texts it has to read."""

    async def __call__(self, size: int, work: Callable[[], T]) -> T: ...


async def here(size: int, work: Callable[[], T]) -> T:
    return work()


async def beside(size: int, work: Callable[[], T]) -> T:
    return work() if size <= _SMALL else await asyncio.to_thread(work)
