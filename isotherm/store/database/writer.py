"""The database behind the store: opened, migrated, and written to by one thread that commits together what came together.

A *unit of work* is a function that takes a connection and does one whole state change. Units run one after the other
inside one transaction, and one that fails takes nothing with it. When the commit fails, or the database asks for a retry,
the whole group runs again from its beginning: a unit must therefore do nothing but talk to its connection.
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
from isotherm.store.database import connect, schema, transient
from isotherm.store.database.lane import WriteLane

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

T = TypeVar("T")
# What a unit of work gets; others name it from here, and know nothing else of the database's library.
Connection = sa.Connection
Unit = Callable[[Connection], T]

# How many units share a commit at most; a bound on what one retry repeats.
GROUP_LIMIT = 512
ATTEMPTS = 8
READ_ATTEMPTS = 4


class Store(Protocol):
    """What the engine needs of a store. `write` returns when the unit is durable; `read` sees what is committed."""

    async def write(self, unit: Unit[T]) -> T: ...

    async def read(self, unit: Unit[T]) -> T: ...


def run_group(engine: sa.Engine, units: list[Unit[Any]], turns: WriteLane | None = None) -> list[Any]:
    """Run the units in one transaction; the answer to each is its result or the exception it raised.

    At first without savepoints, which cost as much as a small unit; only if a unit raises does each get one.
    """
    mark, careful, attempt = uuid.uuid4().hex if turns else "", False, 0
    answers: list[Any] = []
    while True:
        try:
            with engine.connect() as connection, connection.begin():
                if turns is not None and turns.take(connection, mark, again=attempt > 0):
                    return answers
                # Kept beyond the transaction: if its end is not known, the next attempt asks whether they count.
                answers[:] = [_run_guarded(connection, unit) if careful else _run(connection, unit) for unit in units]
            return answers
        except _Raised as raised:
            if len(units) == 1:
                # Rolling back the whole was its savepoint.
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
    """The store of a running process: one thread writes, one reads, and the loop only waits."""

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
    def open(cls, url: str, ring: Callable[[], KeyRing] | None = None, *, max_events: int = -1) -> ThreadedStore:
        """`ring` is asked for when something is first sealed or opened; without one, nothing is.

        `max_events` is how many events of a stack are kept; 0 or less: all.
        """
        engine = connect.connect(url, ring, max_events=max_events)
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
        """Read and block meanwhile: for a process whose loop does not run yet."""
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
            except Exception as error:  # noqa: BLE001 - the database is gone: everybody who waits has to hear it
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
    """The result of a read, or its exception. A connection that was lost while nobody used it is no reason to fail."""
    for attempt in range(1, READ_ATTEMPTS + 1):
        try:
            with engine.connect() as connection, connection.begin():
                return unit(connection)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for this read
            if transient.is_read_only(error):
                return errors.Bug(f"what only reads wants to write: {error}")
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
        told = transient.translated(error)
        if told is error:
            raise
        raise told from error


def _answer(future: Future[Any], answer: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
