"""The store as workers and clients of the simulation see it: production units of work, over a disk with a will of its own.

As in production, units that wait at the same moment are committed together and share their fate: a commit may fail, may
succeed without anybody hearing of it, or may be asked for twice. Whoever waits for an answer can die while it waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from isotherm import errors
from isotherm.sim.world import processes
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.faults import Faults
from isotherm.sim.world.loop import SimLoop
from isotherm.store.database.writer import Unit
from isotherm.store.memory import MemoryDatabase

T = TypeVar("T")

COMMIT_S = 0.02


class DatabaseGone(errors.Unavailable):
    """What a caller sees when a commit fails, or when the answer to it is lost."""


class Witness(Protocol):
    """Looks at every commit. `by` are the processes whose units it holds, in order."""

    def ran(self, by: processes.Process | None) -> None: ...

    def committed(self) -> None: ...


class SimStore:
    """Implements the engine's Store."""

    def __init__(self, database: MemoryDatabase, loop: SimLoop, chance: Chance, faults: Faults) -> None:
        self._database = database
        self._loop = loop
        self._chance = chance
        self._faults = faults
        self._queue: list[tuple[Unit[Any], asyncio.Future[Any], processes.Process | None]] = []
        self._writing = False
        self.witness: Witness | None = None
        self.commits = 0
        # When the database last let somebody down.
        self.failed_at = 0.0

    async def write(self, unit: Unit[T]) -> T:
        await self._faults.point("write.before")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.append((unit, future, processes.current()))
        if not self._writing:
            self._writing = True
            self._loop.call_later(self._chance.delay(COMMIT_S), self._commit, context=self._faults.nobody)
        failure: Exception | None = None
        try:
            answer = await future
        except Exception as error:  # noqa: BLE001 - raised below, after the point at which the caller may be struck
            failure = error
        await self._faults.point("write.after")
        if failure is not None:
            raise failure
        return answer

    async def read(self, unit: Unit[T]) -> T:
        await self._faults.point("read.before")
        if self._chance.strikes("read fails", "read"):
            raise DatabaseGone("the read failed")
        answer = self._database.run([unit])[0]
        await self._faults.point("read.after")
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _commit(self) -> None:
        group, self._queue = self._queue, []
        self._writing = False
        # What a process had sent before it died may have arrived or not.
        group = [one for one in group if one[2] is None or one[2].alive or self._chance.world.random() < 0.5]
        if not group:
            return
        if self._chance.strikes("commit fails", "commit"):
            self.failed_at = self._loop.time()
            self._answer(group, [DatabaseGone("the commit failed")] * len(group))
            return
        units = [self._watched(unit, by, alone=len(group) == 1) for unit, _, by in group]
        if self._chance.strikes("commit retried", "commit"):
            self._database.rehearse([unit for unit, _, _ in group])
        answers = self._database.run(units)
        self.commits += 1
        if self.witness is not None:
            self.witness.committed()
        if self._chance.strikes("commit unheard", "commit"):
            self.failed_at = self._loop.time()
            answers = [DatabaseGone("the connection broke")] * len(group)
        self._answer(group, answers)

    def _watched(self, unit: Unit[Any], by: processes.Process | None, *, alone: bool) -> Callable[[Any], Any]:
        def run(connection: Any) -> Any:
            if alone:
                answer = unit(connection)
            else:
                # Were the whole group run again when one is refused, the witness would see everything twice.
                savepoint = connection.begin_nested()
                try:
                    answer = unit(connection)
                except Exception as error:  # noqa: BLE001 - the answer to whoever sent the unit
                    savepoint.rollback()
                    return error
                savepoint.commit()
            if self.witness is not None:
                self.witness.ran(by)
            return answer

        return run

    @staticmethod
    def _answer(group: list[tuple[Any, asyncio.Future[Any], Any]], answers: list[Any]) -> None:
        for (_, future, _), answer in zip(group, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
