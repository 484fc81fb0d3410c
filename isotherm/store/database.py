"""The database behind the store: opened, migrated, and written to by one thread that commits together what came together.

A *unit of work* is a function that takes a connection and does one whole state change. Units run one after the other
inside one transaction, each behind a savepoint of its own, so that a unit that fails takes nothing with it. When the
commit fails, or the database asks for a retry, the whole group runs again from its beginning: a unit must therefore do
nothing but talk to its connection.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import sqlalchemy as sa

from isotherm import errors
from isotherm.store import schema, sealing

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

T = TypeVar("T")
# What a unit of work gets; others name it from here, and know nothing else of the database's library.
Connection = sa.Connection
Unit = Callable[[Connection], T]

# How many units share a commit at most; a bound on what one retry repeats.
GROUP_LIMIT = 512
ATTEMPTS = 8


class Store(Protocol):
    """What the engine needs of a store. `write` returns when the unit is durable; `read` sees what is committed."""

    async def write(self, unit: Unit[T]) -> T: ...

    async def read(self, unit: Unit[T]) -> T: ...


def connect(url: str, ring: Callable[[], KeyRing] | None = None) -> sa.Engine:
    """An engine for the URL, with SQLite set up so that what is acknowledged survives a kill and a power loss.

    With a ring, what may carry secrets is sealed. Errors do not tell the values of their statements.
    """
    engine = sa.create_engine(url, pool_size=4, max_overflow=8, connect_args={"timeout": 60.0}, hide_parameters=True,
                              execution_options=sealing.options(ring))
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:
    # The driver's own idea of transactions is switched off: BEGIN is said by us, see below.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "temp_store=MEMORY", "cache_size=-65536"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes its lock at once: a read that turns into a write half-way could only fail.
    readonly = connection.get_execution_options().get("readonly", False)
    connection.exec_driver_sql("BEGIN" if readonly else "BEGIN IMMEDIATE")


def run_group(engine: sa.Engine, units: list[Unit[Any]]) -> list[Any]:
    """Run the units in one transaction; the answer to each is its result or the exception it raised."""
    for attempt in range(ATTEMPTS):
        try:
            with engine.connect() as connection, connection.begin():
                return [_run_guarded(connection, unit, alone=len(units) == 1) for unit in units]
        except _Alone as alone:
            return [alone.error]
        except sa.exc.OperationalError:
            if attempt + 1 == ATTEMPTS:
                raise
            time.sleep(0.01 * 2**attempt)
    raise AssertionError("unreachable")


class _Alone(Exception):
    """Carries the error of a unit that had the transaction to itself: rolling back the whole is its savepoint."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _run_guarded(connection: sa.Connection, unit: Unit[Any], *, alone: bool) -> Any:
    if alone:
        try:
            return unit(connection)
        except sa.exc.OperationalError:
            raise
        except Exception as error:
            raise _Alone(error) from error
    savepoint = connection.begin_nested()
    try:
        result = unit(connection)
        savepoint.commit()
        return result
    except sa.exc.OperationalError:
        raise
    except Exception as error:  # noqa: BLE001 - handed to whoever waits for this unit
        savepoint.rollback()
        return error


class ThreadedStore:
    """The store of a running process: one thread writes, one reads, and the loop only waits."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
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
    def open(cls, url: str, ring: Callable[[], KeyRing] | None = None) -> ThreadedStore:
        """`ring` is asked for when something is first sealed or opened; without one, nothing is."""
        engine = connect(url, ring)
        schema.migrate(engine)
        return cls(engine)

    async def write(self, unit: Unit[T]) -> T:
        return await _ask(self._writes, unit)

    async def read(self, unit: Unit[T]) -> T:
        return await _ask(self._reads, unit)

    def close(self) -> None:
        self._writes.put(None)
        self._reads.put(None)
        for thread in self._threads:
            thread.join()
        self._engine.dispose()

    def _write_loop(self) -> None:
        while (group := self._next_group()) is not None:
            try:
                answers = run_group(self._engine, [unit for unit, _ in group])
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
        reader = self._engine.execution_options(readonly=True)
        while (item := self._reads.get()) is not None:
            unit, future = item
            try:
                with reader.connect() as connection, connection.begin():
                    answer = unit(connection)
            except Exception as error:  # noqa: BLE001 - handed to whoever waits for this read
                answer = error
            _answer(future, answer)


async def _ask(channel: queue.SimpleQueue[tuple[Unit[Any], Future[Any]] | None], unit: Unit[T]) -> T:
    future: Future[T] = Future()
    channel.put((unit, future))
    try:
        return await asyncio.wrap_future(future)
    except (sa.exc.OperationalError, sa.exc.InterfaceError) as error:
        raise errors.Unavailable(f"the database does not answer: {error.orig}") from error


def _answer(future: Future[Any], answer: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
