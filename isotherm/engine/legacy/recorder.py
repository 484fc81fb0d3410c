"""Records the reports of a walk in the order of their arrival, many in one transaction.

The consequences of a node's end are decided in memory. So no end may be committed before one that was decided earlier: a
node would begin before the row of its predecessor is written. Hence one transaction follows the other, each with all
reports that have arrived meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from isotherm.engine.legacy.graph import Consequences
from isotherm.store.records import Report

# Decides the consequences of a report; they are recorded with it.
Follow = Callable[[Report], Consequences]
# Writes several reports, and answers each as `store.legacy_walk.record` does.
Write = Callable[[Sequence[tuple[Report, Consequences]]], Awaitable[list[bool | None]]]
Recorded = tuple[bool | None, Consequences]
# Other units of work need the store too.
_BATCH = 100


class Recorder:
    """Records the reports of one walk."""

    def __init__(self, follow: Follow, write: Write) -> None:
        self._follow = follow
        self._write = write
        self._waiting: list[tuple[Report, asyncio.Future[Recorded]]] = []
        self._turn = asyncio.Lock()

    async def record(self, report: Report) -> Recorded:
        """Record a report. Return the store's answer and the consequences when they are committed."""
        answered: asyncio.Future[Recorded] = asyncio.get_running_loop().create_future()
        self._waiting.append((report, answered))
        async with self._turn:
            while not answered.done():
                await self._record_batch()
        return answered.result()

    async def _record_batch(self) -> None:
        batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
        steps = [(report, self._follow(report)) for report, _ in batch]
        try:
            answers = await self._write(steps)
        except BaseException as error:
            for _, answered in batch:
                if not answered.cancelled():
                    answered.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
                    answered.exception()  # its waiter may have been cancelled with the others
            raise
        for (_, answered), (_, step), answer in zip(batch, steps, answers, strict=True):
            if not answered.cancelled():
                answered.set_result((answer, step))
