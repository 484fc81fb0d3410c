"""A group of units is applied once, and its answers are those of that run, also when the connection breaks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import connect
from isotherm.store.database.writer import Connection, ThreadedStore
from isotherm.store.records import Event
from tests import databases, patience
from tests.store.proxy import Proxy

COMMIT = b"COMMIT"


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Proxy]:
    port = sa.make_url(databases.url_of(tmp_path)).port
    made = Proxy(lambda: port or 0)
    yield made
    made.close()


@pytest.fixture
def far(tmp_path: Path, way: Proxy) -> Iterator[ThreadedStore]:
    """A store at the other end of the way."""
    store = ThreadedStore.open(through(databases.url_of(tmp_path), way))
    yield store
    way.thaw()
    store.close()


def through(url: str, way: Proxy) -> str:
    return sa.make_url(url).set(port=way.port).render_as_string(hide_password=False)


class Telling:
    """A unit that writes an event each time it is run, and remembers how often that was."""

    def __init__(self, word: str, during: Callable[[int], None] = lambda _: None) -> None:
        self.word, self.during, self.runs = word, during, 0

    def __call__(self, connection: Connection) -> str:
        self.runs += 1
        self._tell(connection, f"{self.word}, first")
        self.during(self.runs)
        self._tell(connection, f"{self.word}, second")
        return f"{self.word} in run {self.runs}"

    @staticmethod
    def _tell(connection: Connection, text: str) -> None:
        rows.insert_events(connection, [Event("s", "o", "", "T", None, Action.CREATE, Status.COMPLETE, text)], 1.0)


def told(folder: Path) -> list[str]:
    """What is in the table, by another way."""
    with databases.looking(folder) as connection:
        return list(connection.execute(sa.select(t.events.c.reason).order_by(t.events.c.id)).scalars())


def twice(*words: str) -> list[str]:
    return [f"{word}, {part}" for word in words for part in ("first", "second")]


def write(store: ThreadedStore, *units: Any) -> list[Any]:
    async def all_() -> list[Any]:
        return await asyncio.gather(*(store.write(unit) for unit in units), return_exceptions=True)

    return asyncio.run(all_())


def test_it_is_lost_between_two_statements(far: ThreadedStore, way: Proxy, tmp_path: Path) -> None:
    unit = Telling("a", lambda run: way.cut() if run == 1 else None)
    assert write(far, unit) == ["a in run 2"]
    assert told(tmp_path) == twice("a")


def test_the_commit_never_arrives(far: ThreadedStore, way: Proxy, tmp_path: Path) -> None:
    write(far, Telling("before"))
    way.lose(COMMIT)
    unit = Telling("a")
    assert write(far, unit) == ["a in run 2"]
    assert (way.cuts, told(tmp_path)) == (1, twice("before", "a"))


def test_the_commit_arrives_and_its_answer_is_lost(far: ThreadedStore, way: Proxy, tmp_path: Path) -> None:
    write(far, Telling("before"))
    way.lose_answer(COMMIT)
    unit = Telling("a")
    assert write(far, unit) == ["a in run 1"]
    assert (unit.runs, way.cuts, told(tmp_path)) == (1, 1, twice("before", "a"))
    assert write(far, Telling("after")) == ["after in run 1"]


def test_the_first_commit_of_a_writer_is_known_too(far: ThreadedStore, way: Proxy, tmp_path: Path) -> None:
    far._engine.connect().close()  # SQLAlchemy has words of its own for a first connection
    way.lose_answer(COMMIT)
    assert write(far, Telling("a")) == ["a in run 1"]
    assert (way.cuts, told(tmp_path)) == (1, twice("a"))


def test_one_commit_is_lost_and_one_answer(far: ThreadedStore, way: Proxy, tmp_path: Path) -> None:
    far._engine.connect().close()
    way.lose(COMMIT)
    unit = Telling("a", lambda run: way.lose_answer(COMMIT) if run == 2 else None)
    assert write(far, unit) == ["a in run 2"]
    assert (unit.runs, way.cuts, told(tmp_path)) == (2, 2, twice("a"))


def test_each_unit_of_a_group_gets_its_own_answer(far: ThreadedStore, way: Proxy, tmp_path: Path) -> Any:
    """One raises, so that the others run with savepoints; and then the commit is not heard of."""
    def bad(connection: Connection) -> None:
        Telling("bad")(connection)
        raise errors.Conflict("no")

    gate = threading.Event()

    def wait(_run: int) -> None:
        gate.wait(30)

    first = Telling("first", wait)
    units: list[Callable[[Connection], Any]] = [Telling("one"), bad, Telling("two")]

    async def story() -> list[Any]:
        ahead = asyncio.create_task(far.write(first))
        await patience.holds(lambda: first.runs == 1)
        group = asyncio.gather(*(far.write(unit) for unit in units), return_exceptions=True)
        await patience.holds(lambda: far._writes.qsize() == len(units))
        gate.set()
        await ahead
        way.lose_answer(COMMIT)
        return await group

    one, conflict, two = asyncio.run(story())
    assert (one, type(conflict), two) == ("one in run 2", errors.Conflict, "two in run 1")
    assert (way.cuts, told(tmp_path)) == (1, twice("first", "one", "two"))


def test_what_is_read_is_read_again(far: ThreadedStore, way: Proxy) -> Any:
    write(far, Telling("a"))
    count = sa.select(sa.func.count()).select_from(t.events)
    for _ in range(2):
        assert asyncio.run(far.read(lambda connection: connection.execute(count).scalar())) == 2
        way.cut()
    runs = []

    def unit(connection: Connection) -> Any:
        runs.append(1)
        if len(runs) == 1:
            way.cut()
        return connection.execute(count).scalar()

    assert asyncio.run(far.read(unit)) == 2
    assert len(runs) == 2


def test_a_server_that_cannot_be_reached_is_said_so_and_found_again(tmp_path: Path) -> None:
    port = sa.make_url(databases.url_of(tmp_path)).port
    there = [port or 0]
    way = Proxy(lambda: there[0])
    store = ThreadedStore.open(through(databases.url_of(tmp_path), way))
    there[0] = 1  # the port has no listener
    way.cut()
    (error,) = write(store, Telling("a"))
    assert isinstance(error, errors.Unavailable)
    with pytest.raises(errors.Unavailable):
        asyncio.run(store.read(lambda connection: connection.execute(sa.select(t.turns)).all()))
    there[0] = port or 0
    assert write(store, Telling("b")) == ["b in run 1"]
    assert told(tmp_path) == twice("b")
    store.close()
    way.close()


def test_a_way_that_swallows_everything_is_given_up(tmp_path: Path, way: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """No error ever comes: neither from the network, nor from the server."""
    gives_up_after(monkeypatch, 1.0)
    store = ThreadedStore.open(through(databases.url_of(tmp_path), way))
    unit = Telling("a", lambda run: way.freeze() if run == 1 else None)
    threading.Timer(3.0, way.thaw).start()
    began = time.monotonic()
    assert write(store, unit) == [f"a in run {unit.runs}"]
    assert 1.0 < time.monotonic() - began < 30.0 and unit.runs > 1
    assert told(tmp_path) == twice("a")
    way.freeze()
    threading.Timer(3.0, way.thaw).start()
    assert asyncio.run(store.read(lambda connection: connection.execute(sa.select(t.turns)).all())) == [(1,)]
    store.close()


def gives_up_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(connect, "PATIENCE_S", seconds)


def test_a_session_that_stands_still_is_ended_and_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a machine is stopped in the middle of a transaction, and its connections stay open."""
    monkeypatch.setattr(connect, "SILENCE_S", 1)
    still, other = (ThreadedStore.open(databases.url_of(tmp_path)) for _ in range(2))
    stopped, go = threading.Event(), threading.Event()

    def stand_still(run: int) -> None:
        if run == 1:
            stopped.set()
            assert go.wait(60)

    unit = Telling("still", stand_still)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.extend(write(still, unit)))
    thread.start()
    assert stopped.wait(60)
    began = time.monotonic()
    assert write(other, Telling("other")) == ["other in run 1"]
    assert time.monotonic() - began < 20.0
    go.set()
    thread.join(60)
    assert (answers, told(tmp_path)) == (["still in run 2"], twice("other", "still"))
    still.close()
    other.close()


def test_a_lock_that_is_held_too_long_is_waited_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "LOCK_S", 1)
    store = ThreadedStore.open(databases.url_of(tmp_path))
    write(store, Telling("before"))
    with databases.looking(tmp_path) as connection:
        connection.execute(sa.select(t.turns).with_for_update())
        let_go = threading.Timer(2.5, connection.rollback)
        let_go.start()
        unit = Telling("a")
        assert write(store, unit) == ["a in run 1"]
        let_go.join()
    assert told(tmp_path) == twice("before", "a")
    store.close()


def test_a_deadlock_is_no_end(tmp_path: Path) -> Any:
    """Two that lock the same rows in another order; the server ends ours."""
    store = ThreadedStore.open(databases.url_of(tmp_path))
    with databases.looking(tmp_path) as connection:
        connection.execute(sa.insert(t.signatures), [{"writer": name, "mark": "", "number": 0} for name in ("one", "two")])
        connection.execute(sa.insert(t.uses), [{"operation_id": "o", "hash": str(number)} for number in range(100)])
    locked, ours = threading.Event(), threading.Event()

    def lock(connection: Connection, name: str) -> None:
        connection.execute(sa.update(t.signatures).where(t.signatures.c.writer == name).values(mark="x"))

    def the_other() -> None:
        with databases.looking(tmp_path) as connection:
            if databases.ON == "postgresql":
                connection.exec_driver_sql("SET LOCAL deadlock_timeout = '60s'")  # let the store find out
            connection.execute(sa.update(t.uses).values(operation_id="p"))  # MariaDB ends the one that has done less
            lock(connection, "two")
            locked.set()
            assert ours.wait(60)
            lock(connection, "one")

    runs = []

    def unit(connection: Connection) -> int:
        runs.append(1)
        lock(connection, "one")
        ours.set()
        lock(connection, "two")
        return len(runs)

    thread = threading.Thread(target=the_other)
    thread.start()
    assert locked.wait(60)
    assert write(store, unit) == [2]
    thread.join(60)
    store.close()


RAISE = {"postgresql": "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{}'; END $$",
         "mariadb": "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {}, MESSAGE_TEXT = 'as if'"}
PASSING = {
    # A serialization failure, a deadlock, a lock, a server that goes down or comes up, too many, a full disk, a replica.
    "postgresql": ["40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57014", "53300", "53100", "25006", "25P03"],
    "mariadb": ["1205", "1213", "1020", "1053", "1040", "1317", "1927", "1290", "1021", "1180", "1969"],
}
STAYING = {
    # What is doubled, too long, no number, missing, too much for any page, or nonsense.
    "postgresql": ["23505", "22001", "22003", "42P01", "54000", "42601", "25P02"],
    "mariadb": ["1062", "1406", "1264", "1054", "1146", "1064", "1690", "1153", "1093", "1267"],
}


@pytest.mark.parametrize("code", PASSING.get(databases.ON, []))
def test_what_is_the_fault_of_the_server_is_tried_again(store: ThreadedStore, code: Any, tmp_path: Path) -> Any:
    def during(connection: Connection) -> str:
        answer = unit(connection)
        if unit.runs == 1:
            connection.exec_driver_sql(RAISE[databases.ON].format(code))
        return answer

    unit = Telling("a")
    assert write(store, during) == ["a in run 2"]
    assert told(tmp_path) == twice("a")


@pytest.mark.parametrize("code", STAYING.get(databases.ON, []))
def test_what_is_the_fault_of_the_unit_is_not(store: ThreadedStore, code: Any, tmp_path: Path) -> None:
    def bad(connection: Connection) -> None:
        runs.append(1)
        connection.exec_driver_sql(RAISE[databases.ON].format(code))

    runs: list[int] = []
    unit = Telling("a")
    error, answer = write(store, bad, unit)
    assert isinstance(error, (sa.exc.DBAPIError, errors.UserError)) and not isinstance(error, errors.Unavailable)
    assert len(runs) <= 2 and answer.startswith("a in run")
    assert told(tmp_path) == twice("a")


KILL = {"postgresql": "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {}", "mariadb": "KILL {}"}
SESSIONS = {"postgresql": "SELECT pid FROM pg_stat_activity WHERE pid = {}",
            "mariadb": "SELECT id FROM information_schema.processlist WHERE id = {}"}
MINE = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}


def is_there(folder: Path, session: object) -> bool:
    """Look with a connection of its own: PostgreSQL shows the same activity all through a transaction."""
    with databases.looking(folder) as operator:
        return bool(operator.exec_driver_sql(SESSIONS[databases.ON].format(session)).all())


def test_an_operator_ends_the_session(store: ThreadedStore, tmp_path: Path) -> Any:
    def unit(connection: Connection) -> str:
        number = connection.exec_driver_sql(MINE[databases.ON]).scalar()
        answer = inner(connection)
        if inner.runs == 1:
            with databases.looking(tmp_path) as operator:
                operator.exec_driver_sql(KILL[databases.ON].format(number))
            patience.until(lambda: not is_there(tmp_path, number))
            connection.execute(sa.select(t.turns))
        return answer

    inner = Telling("a")
    assert write(store, unit) == ["a in run 2"]
    assert told(tmp_path) == twice("a")


def test_what_only_reads_cannot_write(store: ThreadedStore) -> None:
    """It would be a mistake of ours, and must not be taken for a server that has become a replica."""
    with pytest.raises(errors.Bug):
        asyncio.run(store.read(lambda connection: connection.execute(sa.delete(t.events))))
