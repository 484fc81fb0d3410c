"""Records how steps ended, in the order in which the walk heard of it: many at a time, in one transaction.

What the end of a node means to others is decided in memory. So no end may be committed before one that was decided
earlier: a node would begin while the row of another that it needs is not there yet. Hence one transaction after the other,
each with all that has come meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from isotherm.engine.legacy.graph import Consequences
from isotherm.store.records import Report

# Decides what follows from a report; its answer is recorded with it.
Follow = Callable[[Report], Consequences]
# Writes several, and answers to each as `store.walk.record` does.
Write = Callable[[Sequence[tuple[Report, Consequences]]], Awaitable[list[bool | None]]]
Recorded = tuple[bool | None, Consequences]
# Others want to write too.
_BATCH = 100


class Recorder:
    """One walk's reports."""

    def __init__(self, follow: Follow, write: Write) -> None:
        self._follow = follow
        self._write = write
        self._waiting: list[tuple[Report, asyncio.Future[Recorded]]] = []
        self._turn = asyncio.Lock()

    async def __call__(self, report: Report) -> Recorded:
        told: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        self._waiting.append((report, told))
        async with self._turn:
            while not told.done():
                await self._record()
        return told.result()

    async def _record(self) -> None:
        batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
        steps = [(report, self._follow(report)) for report, _ in batch]
        try:
            answers = await self._write(steps)
        except BaseException as error:
            for _, told in batch:
                if not told.cancelled():
                    told.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
                    told.exception()  # whoever waits for it may have been cancelled with the others
            raise
        for (_, told), (_, step), answer in zip(batch, steps, answers, strict=True):
            if not told.cancelled():
                told.set_result((answer, step))
