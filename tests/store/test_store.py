"""The store: group commit, migrations, durability settings, and the units that decide races."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from isotherm import errors
from isotherm.states import Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import connect, schema, writer
from isotherm.store.database.writer import ThreadedStore
from isotherm.store.operations import accept, plan, settle, visit
from isotherm.store.queue import choose, claim
from isotherm.store.records import Acceptance, Event, NewStack, Report, Version, Wanted
from isotherm.store.transitions import versions as version_rows
from tests import databases


def write(store: Any, unit: Any) -> Any:
    return asyncio.run(store.write(unit))


def read(store: Any, query: Any) -> Any:
    return asyncio.run(store.read(lambda connection: connection.execute(query).all()))


def acceptance(operation_id: str = "op1", generation: int = 0, action: Any = Action.CREATE, **options: Any) -> Any:
    return Acceptance("stack", generation, operation_id, action, "", disable_rollback=True, timeout_s=60.0, **options)


def wanted(name: Any, requires: Any = ()) -> Any:
    return Wanted(name, f"digest-{name}", "[]", tuple(requires), DeletionPolicy.DELETE)


def create(store: Any, *names: Any, now: float = 10.0) -> None:
    def unit(connection: Any) -> None:
        accept.create(connection, NewStack("stack", "project", "s", True), acceptance(), now)
        plan.write(connection, "op1", [wanted(*name) if isinstance(name, tuple) else wanted(name) for name in names], now)

    write(store, unit)


def take(store: Any, worker: str = "w", now: float = 11.0, lease_s: float = 30.0, room: int = 10) -> Any:
    request = choose.ClaimRequest(worker, now + lease_s, room)
    return write(store, lambda connection: claim.take(connection, request, now)).claims


def test_what_is_acknowledged_is_durable(store: ThreadedStore) -> None:
    assert read(store, sa.text("PRAGMA journal_mode")) == [("wal",)]
    assert read(store, sa.text("PRAGMA synchronous")) == [(2,)], "FULL"


def test_the_migrations_build_the_tables_of_the_code(store: ThreadedStore) -> None:
    found = asyncio.run(store.read(lambda connection: set(sa.inspect(connection).get_table_names())))
    assert found == {*t.metadata.tables, "alembic_version"}
    migrations = Path(schema.__file__).parent / "migrations"
    assert ScriptDirectory(str(migrations)).get_heads() == [schema.HEAD]


def test_opening_a_file_that_is_being_created_waits(tmp_path: Path) -> None:
    """SQLite waits for a lock, but not where a new file changes the way it keeps its journal."""
    file = tmp_path / "new.db"
    somebody = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    somebody.execute("BEGIN IMMEDIATE")
    somebody.execute("CREATE TABLE made (id INTEGER)")
    impatient = sqlite3.connect(file, timeout=60)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        impatient.execute("PRAGMA journal_mode=WAL")
    impatient.close()
    done = threading.Timer(0.3, somebody.execute, ["COMMIT"])
    done.start()
    engine = connect.connect(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"
        assert sa.inspect(connection).get_table_names() == ["made"]
    done.join()
    engine.dispose()
    somebody.close()


def test_a_second_process_finds_the_database_ready(tmp_path: Path) -> None:
    for _ in range(2):
        ThreadedStore.open(databases.url_of(tmp_path)).close()


def test_units_that_come_together_are_committed_together(store: ThreadedStore) -> None:
    async def many() -> None:
        event = Event("stack", "op", "r", "T", None, Action.CREATE, Status.COMPLETE, "")
        await asyncio.gather(*(store.write(lambda c: rows.insert_events(c, [event], 1.0)) for _ in range(200)))

    before = store.commits
    asyncio.run(many())
    assert read(store, sa.select(sa.func.count()).select_from(t.events)) == [(200,)]
    assert store.commits - before < 50


def test_a_unit_that_fails_takes_nothing_with_it(store: ThreadedStore) -> Any:
    event = Event("stack", "op", "good", "T", None, Action.CREATE, Status.COMPLETE, "")

    def bad(connection: Any) -> None:
        rows.insert_events(connection, [event], 1.0)
        raise errors.Conflict("no")

    async def both() -> Any:
        return await asyncio.gather(store.write(lambda c: rows.insert_events(c, [event], 1.0)), store.write(bad),
                                    store.write(lambda c: rows.insert_events(c, [event], 1.0)), return_exceptions=True)

    answers = asyncio.run(both())
    assert [type(answer) for answer in answers] == [type(None), errors.Conflict, type(None)]
    assert read(store, sa.select(sa.func.count()).select_from(t.events)) == [(2,)]


def test_a_busy_database_is_asked_again(tmp_path: Path) -> Any:
    engine = connect.connect(databases.url_of(tmp_path))
    calls = []

    def unit(connection: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise sa.exc.OperationalError("locked", {}, Exception("database is locked"))
        return "done"

    assert writer.run_group(engine, [unit]) == ["done"]
    engine.dispose()


@pytest.mark.ledger("S2.12", "S2.9", "S2.15")
def test_a_node_is_taken_once_and_its_state_is_a_number(store: ThreadedStore) -> None:
    create(store, "a", ("b", ["a"]))
    states = dict(read(store, sa.select(t.nodes.c.name, t.nodes.c.state)))
    assert states == {"a": NodeState.SCHEDULED, "b": NodeState.PENDING}
    assert all(type(state) is int for state in states.values())
    assert [one.name for one in take(store, "w1")] == ["a"]
    assert take(store, "w2") == []
    assert dict(read(store, sa.select(t.nodes.c.name, t.nodes.c.state)))["a"] == NodeState.RUNNING


@pytest.mark.ledger("S2.8", "S2.16", "S2.20")
def test_a_claim_holds_the_node_and_its_neighbours_and_nothing_else(store: ThreadedStore) -> None:
    create(store, "a", ("b", ["a"]), ("c", ["b"]), *(f"other{i}" for i in range(50)))
    one = next(claim_ for claim_ in take(store, room=100) if claim_.name == "a")
    write(store, lambda c: settle.reports(c, [Report(one, NodeState.DONE, changed=True)], "new", 12.0))
    (following,) = take(store, now=13.0)
    assert following.name == "b"
    assert [item.name for item in following.inputs] == ["a"]


def test_what_an_older_holder_says_changes_nothing(store: ThreadedStore) -> None:
    create(store, "a")
    (first,) = take(store, "w1", lease_s=5)
    (second,) = take(store, "w2", now=20.0)
    assert second.fence > first.fence
    write(store, lambda c: settle.reports(c, [Report(first, NodeState.DONE)], "new", 21.0))
    assert read(store, sa.select(t.nodes.c.state, t.nodes.c.worker)) == [(NodeState.RUNNING, "w2")]
    for _ in range(2):
        write(store, lambda c: settle.reports(c, [Report(second, NodeState.DONE)], "new", 22.0))
    assert read(store, sa.select(t.operations.c.remaining)) == [(0,)], "said twice, counted once"


@pytest.mark.ledger("S2.12")
def test_the_loser_of_a_race_gets_a_conflict_and_writes_nothing(store: ThreadedStore) -> None:
    create(store, "a")
    update = [acceptance(f"op{n}", 1, Action.UPDATE, blobs={f"blob{n}": "x"}) for n in (2, 3)]
    write(store, lambda c: accept.supersede(c, update[0], 12.0))
    with pytest.raises(errors.Conflict):
        write(store, lambda c: accept.supersede(c, update[1], 12.0))
    assert read(store, sa.select(t.stacks.c.generation, t.stacks.c.operation_id)) == [(2, "op2")]
    assert read(store, sa.select(t.blobs.c.hash)) == [("blob2",)]


def test_once_a_newer_operation_is_accepted_nothing_is_begun_for_the_older(store: ThreadedStore) -> None:
    create(store, "a", "b")
    taken = take(store)
    write(store, lambda c: accept.supersede(c, acceptance("op2", 1, Action.UPDATE), 12.0))
    assert write(store, lambda c: claim.renew(c, taken, 99.0, 12.5)) == set()
    assert take(store, now=13.0) == [], "not planned yet: nothing may be taken"


def test_a_lease_that_has_run_out_is_not_renewed(store: ThreadedStore) -> None:
    create(store, "a", "b")
    taken = take(store)
    until = taken[0].lease_until
    assert write(store, lambda c: claim.renew(c, taken, until + 9.0, until - 1.0)) == {one.key for one in taken}
    assert write(store, lambda c: claim.renew(c, taken, until + 99.0, until + 9.5)) == set()


@pytest.mark.parametrize(("state", "after"), [(NodeState.DONE, NodeState.DONE), (NodeState.FAILED, NodeState.SKIPPED)])
def test_a_visit_leaves_no_mark_even_if_another_overtakes_it(store: ThreadedStore, state: Any, after: Any) -> None:
    """A resource that was up to date stays so after a check that superseded a suspend."""
    create(store, "a")
    (made,) = take(store)
    version = Version(1, "stack", "a", "T", "T", "token", "p", Action.CREATE, Status.COMPLETE, "", "{}", "digest-a", "null",
                      "{}", None, "[]", None, False, DeletionPolicy.DELETE, False, "op1", None)
    write(store, lambda c: version_rows.create(c, [version], 11.0))
    write(store, lambda c: c.execute(sa.update(t.nodes).values(resource_id=1)))
    write(store, lambda c: settle.reports(c, [Report(made, state)], "new", 12.0))

    def overtaken(connection: Any) -> None:
        for generation, (operation, action) in enumerate((("op2", Action.SUSPEND), ("op3", Action.CHECK)), 1):
            accept.supersede(connection, acceptance(operation, generation, action), 13.0)
            visit.write(connection, operation, 13.0)

    write(store, overtaken)
    (visited,) = take(store, now=14.0)
    write(store, lambda c: settle.reports(c, [Report(visited, NodeState.DONE)], "new", 15.0))
    assert read(store, sa.select(t.nodes.c.kind, t.nodes.c.state)) == [(NodeKind.UPDATE, after)]


def test_an_index_leads_to_what_is_due(store: ThreadedStore) -> Any:
    create(store, *(f"r{i}" for i in range(10)))

    def explain(connection: Any) -> Any:
        return " ".join(row[-1] for row in connection.exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT id FROM nodes WHERE due <= 1 ORDER BY due LIMIT 10"))

    assert "ix_nodes_due" in asyncio.run(store.read(explain))
