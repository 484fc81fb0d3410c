"""Where work is done that needs the processor for long: reading a big template must not keep everybody else waiting.

The simulator and commands do it on the spot, in order; a service hands what is big to a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

T = TypeVar("T")
# Bytes of template that are read within a few milliseconds.
_SMALL = 32_768


class Compute(Protocol):
    """Does the work; `size` is that of the texts it has to read."""

    async def __call__(self, size: int, work: Callable[[], T]) -> T: ...


def weight(value: object) -> int:
    """How big data is: a character counts one, and so does a thing of any other kind."""
    if isinstance(value, str):
        return 1 + len(value)
    if isinstance(value, Mapping):
        return 1 + sum(weight(key) + weight(one) for key, one in value.items())
    return 1 + sum(map(weight, value)) if isinstance(value, list | tuple) else 1


async def here(size: int, work: Callable[[], T]) -> T:
    return work()


async def beside(size: int, work: Callable[[], T]) -> T:
    return work() if size <= _SMALL else await asyncio.to_thread(work)
