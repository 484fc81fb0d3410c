"""The simulated store: the production units of work over a database whose commits fail at times.

As in production, units that wait at the same time are committed together. A commit may fail, succeed and lose its answer,
or be retried. A process may be killed while it waits for the answer.
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
    """A commit failed, or its answer was lost."""


class StoreWitness(Protocol):
    """Sees every unit that has run, with the process that sent it."""

    def ran(self, by: processes.Process | None) -> None: ...


class SimStore:
    """Implements the engine's Store."""

    def __init__(self, database: MemoryDatabase, loop: SimLoop, chance: Chance, faults: Faults) -> None:
        self._database = database
        self._loop = loop
        self._chance = chance
        self._faults = faults
        self._queue: list[tuple[Unit[Any], asyncio.Future[Any], processes.Process | None]] = []
        self._writing = False
        self.witness: StoreWitness | None = None
        self.commits = 0
        # Time of the last failed commit or lost answer.
        self.failed_at = 0.0

    async def write(self, unit: Unit[T]) -> T:
        await self._faults.point("write.before")
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.append((unit, future, processes.current()))
        if not self._writing:
            self._writing = True
            self._loop.call_later(self._chance.delay(COMMIT_S), self._commit, context=self._faults.no_process)
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
        # A unit of a killed process may have been sent before the kill, or not.
        group = [one for one in group if one[2] is None or one[2].alive or self._chance.world.random() < 0.5]
        if not group:
            return
        if self._chance.strikes("commit fails", "commit"):
            self.failed_at = self._loop.time()
            self._answer(group, [DatabaseGone("the commit failed")] * len(group))
            return
        units = [self._watched(unit, by, alone=len(group) == 1) for unit, _, by in group]
        if self._chance.strikes("commit retried", "commit"):
            self._database.try_out([unit for unit, _, _ in group])
        answers = self._database.run(units)
        self.commits += 1
        if self._chance.strikes("commit unheard", "commit"):
            self.failed_at = self._loop.time()
            answers = [DatabaseGone("the connection broke")] * len(group)
        self._answer(group, answers)

    def _watched(self, unit: Unit[Any], by: processes.Process | None, *, alone: bool) -> Callable[[Any], Any]:
        def run(connection: Any) -> Any:
            if alone:
                answer = unit(connection)
            else:
                # A savepoint: if one refused unit reran the whole group, the witness would see every unit twice.
                savepoint = connection.begin_nested()
                try:
                    answer = unit(connection)
                except Exception as error:  # noqa: BLE001 - returned to the sender of the unit
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
