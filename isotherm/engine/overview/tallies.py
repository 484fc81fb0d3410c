"""Counts of resources by state, remembered: counting a large stack is slow, and it is looked at again and again.

While an operation runs, counts are taken anew, but counting takes a fiftieth of the time at most: the larger the stack,
the older the counts may be, and `at` says how old they are. Once it has ended, counts of a stack stay as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from isotherm.engine import view_memory
from isotherm.engine.view_memory import ViewMemory
from isotherm.states import NodeState, Status
from isotherm.store.database.writer import Store
from isotherm.store.reads import tallies

# The largest part of the time that counting may take, and the age at which counts are old in any case.
_SHARE = 0.02
_OLD_S = 30.0
_KEPT = 10_000
# Levels of nested stacks, and stacks, that are counted.
MOST_LEVELS, _MOST_STACKS = 1000, 200_000


@dataclass(frozen=True, slots=True)
class StackTally:
    """The counts of a stack, or of a stack and all inside it, at one moment."""

    counts: Mapping[NodeState, int]
    stacks: int
    at: float

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(slots=True)
class _Remembered:
    tally: StackTally
    stamp: tuple[object, ...]
    # When it was counted, and from when it may be counted again, by the monotonic clock.
    counted: float
    again: float


class Tallies:
    """The counts that a process has taken."""

    def __init__(self, memory: ViewMemory) -> None:
        self._memory = memory

    async def of(self, store: Store, stack: Mapping[Any, Any], now: float, *, tree: bool = False) -> StackTally:
        """Return the counts of a stack; `tree`: with those of its nested stacks."""
        key, stamp = (stack["id"], tree), (stack["generation"], stack["status"], stack["operation_id"])
        known: _Remembered | None = self._memory.tallies.get(key)
        if known is not None and not _is_stale(known, stamp, stack, tree=tree):
            return known.tally
        asked = self._memory.asked.get(key)
        if asked is None:
            asked = self._memory.asked[key] = asyncio.ensure_future(self._count(store, stack, now, key, stamp))
            asked.add_done_callback(lambda _: self._memory.asked.pop(key, None))
        tally: StackTally = await asyncio.shield(asked)
        return tally

    async def _count(
        self, store: Store, stack: Mapping[Any, Any], now: float, key: tuple[str, bool], stamp: tuple[object, ...]
    ) -> StackTally:
        began = time.monotonic()
        found = await _counted(store, stack["id"])
        inner = (await inside(store, stack["id"]))[1:] if key[1] else []
        for start in range(0, len(inner), tallies.STACKS):
            piece = inner[start:start + tallies.STACKS]
            found.update(await store.read(partial(tallies.of_stacks, stack_ids=piece)))
        ended = time.monotonic()
        tally = StackTally(dict(found), 1 + len(inner), now)
        remembered = _Remembered(tally, stamp, ended, ended + (ended - began) / _SHARE)
        view_memory.keep(self._memory.tallies, key, remembered, _KEPT)
        return tally


def _is_stale(known: _Remembered, stamp: tuple[object, ...], stack: Mapping[Any, Any], *, tree: bool) -> bool:
    now = time.monotonic()
    if stack["status"] != Status.IN_PROGRESS and (known.stamp != stamp or not tree):
        return known.stamp != stamp
    # Of a tree that has ended, an inner stack may still move: its counts get old.
    if known.stamp == stamp and stack["status"] != Status.IN_PROGRESS:
        return now > max(known.again, known.counted + _OLD_S)
    return now >= known.again


async def _counted(store: Store, stack_id: str) -> Counter[NodeState]:
    found: Counter[NodeState] = Counter()
    position: tuple[str, int] | None = ("", -1)
    while position is not None:
        piece = await store.read(partial(tallies.piece, stack_id=stack_id, after=position))
        found.update(piece.counts)
        position = piece.next
    return found


async def inside(store: Store, stack_id: str, levels: int = MOST_LEVELS) -> list[str]:
    """Return a stack and its nested stacks, level by level, down to so many levels."""
    found = level = [stack_id]
    while level and levels > 0 and len(found) <= _MOST_STACKS:
        level = await store.read(partial(tallies.inside, stack_ids=level))
        found = [*found, *level]
        levels -= 1
    return found
