"""The store of a process: one thread writes, and commits units of work that arrived together in one transaction.

A *unit of work* is a function that takes a connection and makes one complete state change. Units of a group run one after
the other; one that fails does not affect the others. When the commit fails, or the database requests a retry, the whole
group runs again: so a unit must do nothing but use its connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import random
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import sqlalchemy as sa

from isotherm import errors
from isotherm.store import limits
from isotherm.store.database import connect, schema, transient
from isotherm.store.database.lane import WriteLane

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

T = TypeVar("T")
# The parameter of a unit of work. Other packages import it from here, so that only the store imports SQLAlchemy.
Connection = sa.Connection
Unit = Callable[[Connection], T]

# Most units in one commit: a bound on the work that a retry repeats.
GROUP_LIMIT = 512
ATTEMPTS = 8
READ_ATTEMPTS = 4


class Store(Protocol):
    """The port to the store. `write` returns when the unit is durable; `read` sees committed rows."""

    async def write(self, unit: Unit[T]) -> T: ...

    async def read(self, unit: Unit[T]) -> T: ...


def run_group(engine: sa.Engine, units: list[Unit[Any]], turns: WriteLane | None = None) -> list[Any]:
    """Run the units in one transaction; return for each its result or the exception it raised.

    A savepoint costs as much as a small unit, so there are none at first. If a unit raises, the group runs again with one
    for each unit.
    """
    mark, careful, attempt = uuid.uuid4().hex if turns else "", False, 0
    answers: list[Any] = []
    while True:
        try:
            with engine.connect() as connection, connection.begin():
                if turns is not None and turns.take(connection, mark, again=attempt > 0):
                    return answers
                # Kept beyond the transaction: if the result of the commit is unknown, the next attempt finds out.
                answers[:] = [_run_guarded(connection, unit) if careful else _run(connection, unit) for unit in units]
            return answers
        except _Raised as raised:
            if len(units) == 1:
                # The rollback of the transaction replaces a savepoint.
                return [raised.error]
            careful = True
        except sa.exc.DBAPIError as error:
            attempt += 1
            if attempt == ATTEMPTS or not transient.is_transient(error):
                raise
            if transient.is_read_only(error):
                engine.dispose()
            time.sleep(0.01 * 2**attempt * random.uniform(0.5, 1.0))


class _Raised(Exception):
    """Carries the error of a unit that had no savepoint."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _run(connection: sa.Connection, unit: Unit[Any]) -> Any:
    try:
        return unit(connection)
    except Exception as error:
        if transient.is_transient(error):
            raise
        raise _Raised(error) from error


def _run_guarded(connection: sa.Connection, unit: Unit[Any]) -> Any:
    savepoint = connection.begin_nested()
    try:
        result = unit(connection)
        savepoint.commit()
        return result
    except Exception as error:
        if transient.is_transient(error):
            raise
        savepoint.rollback()
        return error


class ThreadedStore:
    """The store of a running process: one thread writes, one reads, and the event loop is never blocked."""

    def __init__(self, engine: sa.Engine, reader: sa.Engine) -> None:
        self._engine = engine
        self._reader = reader
        self._turns = WriteLane() if connect.needs_turns(engine) else None
        self._writes: queue.SimpleQueue[tuple[Unit[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[tuple[Unit[Any], Future[Any]] | None] = queue.SimpleQueue()
        self.commits = 0
        self._threads = [
            threading.Thread(target=self._write_loop, name="store-writer", daemon=True),
            threading.Thread(target=self._read_loop, name="store-reader", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @classmethod
    def open(
        cls, url: str, ring: Callable[[], KeyRing] | None = None, *, max_events: int = -1,
        max_history: int = limits.HISTORY,
    ) -> ThreadedStore:
        """Open and migrate the database at `url`.

        `ring` is called when a value is first sealed or opened; without it nothing is sealed. `max_events`: the number of
        events that are kept of each stack; 0 or less: all. `max_history`: the number of inputs that its history keeps.
        """
        engine = connect.connect(url, ring, max_events=max_events, max_history=max_history)
        reader = connect.connect(url, ring, reading=True)
        with contextlib.ExitStack() as opened:
            opened.callback(engine.dispose)
            opened.callback(reader.dispose)
            schema.migrate(engine, reader)
            opened.pop_all()
        return cls(engine, reader)

    async def write(self, unit: Unit[T]) -> T:
        return await _ask(self._writes, unit)

    async def read(self, unit: Unit[T]) -> T:
        return await _ask(self._reads, unit)

    def read_at_start(self, unit: Unit[T]) -> T:
        """Read and block: for a process whose event loop does not run yet."""
        answer = _read(self._reader, unit)
        if isinstance(answer, Exception):
            raise answer
        return cast(T, answer)

    def close(self) -> None:
        self._writes.put(None)
        self._reads.put(None)
        for thread in self._threads:
            thread.join()
        if self._turns is not None:
            with contextlib.suppress(sa.exc.DBAPIError), self._engine.begin() as connection:
                self._turns.end(connection)
        self._engine.dispose()
        self._reader.dispose()

    def _write_loop(self) -> None:
        while (group := self._next_group()) is not None:
            try:
                answers = run_group(self._engine, [unit for unit, _ in group], self._turns)
                self.commits += 1
            except Exception as error:  # noqa: BLE001 - the database does not answer: every waiting caller gets the error
                answers = [error] * len(group)
            for (_, future), answer in zip(group, answers, strict=True):
                _answer(future, answer)

    def _next_group(self) -> list[tuple[Unit[Any], Future[Any]]] | None:
        first = self._writes.get()
        if first is None:
            return None
        group = [first]
        while len(group) < GROUP_LIMIT and not self._writes.empty():
            item = self._writes.get()
            if item is None:
                self._writes.put(None)
                break
            group.append(item)
        return group

    def _read_loop(self) -> None:
        while (item := self._reads.get()) is not None:
            unit, future = item
            _answer(future, _read(self._reader, unit))


def _read(engine: sa.Engine, unit: Unit[Any]) -> Any:
    """Return the result of a read, or its exception. Transient errors, such as a lost connection, are retried."""
    for attempt in range(1, READ_ATTEMPTS + 1):
        try:
            with engine.connect() as connection, connection.begin():
                return unit(connection)
        except Exception as error:  # noqa: BLE001 - returned to the caller of this read
            if transient.is_read_only(error):
                return errors.Bug(f"a read tried to write: {error}")
            if attempt == READ_ATTEMPTS or not transient.is_transient(error):
                return error
        time.sleep(0.01 * 4**attempt)
    raise AssertionError("unreachable")


async def _ask(channel: queue.SimpleQueue[tuple[Unit[Any], Future[Any]] | None], unit: Unit[T]) -> T:
    future: Future[T] = Future()
    channel.put((unit, future))
    try:
        return await asyncio.wrap_future(future)
    except sa.exc.DBAPIError as error:
        translated = transient.translated(error)
        if translated is error:
            raise
        raise translated from error


def _answer(future: Future[Any], answer: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
