"""In a database that is full of other stacks, no statement of an engine's daily work reads a whole table.

A real engine is driven on it, and every statement that it says is explained by the database itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.engine.process.embedded import Embedded
from isotherm.engine.queries.events import EventQuery
from isotherm.identity.requester import Requester
from isotherm.states import Action, DeletionPolicy, EdgeKind, NodeKind, NodeState, OperationState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import bulk
from isotherm.store.queue import release
from isotherm.store.reads.stack_list import StackQuery
from isotherm.store.records import Edge, Event, Version
from isotherm.store.transitions import versions as version_rows
from tests import databases
from tests.engine.conftest import Lab, resource

NODES = 50
STACKS = int(os.environ.get("ISOTHERM_PLAN_NODES", "20000")) // NODES
BIG = {"nodes", "resources", "edges", "events", "stacks", "operations", "uses"}
# What is read whole on purpose, and how often.
WHOLE: dict[str, str] = {}

_STACKS = bulk.insert(t.stacks, "id", "project", "name", "tomb", "generation", "operation_id", "action", "status", "reason",
                      "description", "tags", "disable_rollback", "convergence", "created_at")
_OPERATIONS = bulk.insert(t.operations, "id", "stack_id", "generation", "action", "state", "input", "disable_rollback",
                          "tags", "remaining", "created_at", "fence")
_USES = bulk.insert(t.uses, "operation_id", "hash")
_NODES = bulk.insert(t.nodes, "id", "stack_id", "name", "kind", "state", "generation", "pending", "outdated", "definition",
                     "digest", "resource_id", "fence")
_DONE = (int(Action.CREATE), int(Status.COMPLETE))


def fill(connection: sa.Connection) -> None:
    """Stacks that are at rest, each a chain."""
    _STACKS(connection, ((f"stack-{n}", f"project-{n % 7}", f"stack-{n}", "", 1, f"op-{n}", *_DONE, "", "", "[]", True,
                          True, float(n)) for n in range(STACKS)))
    _OPERATIONS(connection, ((f"op-{n}", f"stack-{n}", 1, int(Action.CREATE), int(OperationState.COMPLETE), "", True, "[]",
                              0, 1.0, 0) for n in range(STACKS)))
    _USES(connection, ((f"op-{n}", f"hash-{number}") for n in range(STACKS) for number in range(3)))
    places = [(10_000_000 + n * NODES + at, f"stack-{n}", f"op-{n}", at) for n in range(STACKS) for at in range(NODES)]
    _NODES(connection, ((id_, stack, f"r{at}", int(NodeKind.UPDATE), int(NodeState.DONE), 1, 0, False, "[]", "d", id_, 0)
                        for id_, stack, _, at in places))
    version_rows.create(connection, (
        Version(id_, stack, f"r{at}", "T", "T", f"token-{id_}", f"p{id_}", Action.CREATE, Status.COMPLETE, "", "{}", "d",
                "null", "{}", None, "[]", None, False, DeletionPolicy.DELETE, False, operation, None)
        for id_, stack, operation, at in places), 1.0)
    rows.insert_edges(connection, (Edge(id_ - 1, id_, EdgeKind.REQUIRES) for id_, _, _, at in places if at))
    rows.insert_events(connection, (Event(stack, operation, f"r{at}", "T", None, Action.CREATE, Status.COMPLETE, "")
                                    for _, stack, operation, at in places), 1.0)


class Said:
    """All statements that were said while it listened, each once, with the values of the first time."""

    def __init__(self) -> None:
        self.statements: dict[str, Any] = {}

    def __call__(self, _connection: Any, _cursor: Any, statement: str, values: Any, _context: Any, many: bool) -> None:
        known = re.sub(r"_\d+\b", "_", statement)
        if re.match(r"\s*(SELECT|UPDATE|DELETE|INSERT)", statement) and known not in self.statements:
            self.statements[known] = (statement, values[0] if many else values)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Said]]:
    folder = tmp_path_factory.mktemp("full")
    engine = Embedded(folder)
    asyncio.run(engine.store.write(fill))
    with databases.looking(folder) as connection:
        for table in sorted(BIG):
            connection.exec_driver_sql(f"ANALYZE {'TABLE ' if databases.ON == 'mariadb' else ''}{table}")
    heard = Said()
    sa.event.listen(sa.Engine, "before_cursor_execute", heard)
    try:
        asyncio.run(work(engine))
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", heard)
        engine.close()
    yield folder, heard


async def work(engine: Embedded) -> None:
    """The life of a stack, and what is asked about it."""
    async with engine.driving():
        lab = Lab(engine)
        chain = {f"r{number}": resource(str(number), needs=[f"r{number - 1}"] if number else None) for number in range(10)}
        assert (await lab.create(chain))["status"] == "COMPLETE"
        changed = {**chain, "r3": resource("new", update_replace=True), "r11": resource("more")}
        del changed["r9"]
        assert (await lab.update(changed))["status"] == "COMPLETE"
        assert (await lab.update(changed))["status"] == "COMPLETE"
        for ask in (lab.api.stacks.check, lab.api.stacks.suspend, lab.api.stacks.resume, lab.api.snapshots.take):
            assert (await lab.end(await ask("s")))["status"] == "COMPLETE"
        await lab.api.resources.list("s")
        await lab.api.events.list("s", last=10)
        assert [page async for page in lab.api.events.pages("s", EventQuery(limit=10))]
        await lab.api.resources.show("s", "r1")
        await lab.api.stacks.list()
        many = engine.orchestrator_for(Requester("project-1"))
        for orders, everywhere in (((), False), (("stack_name",), False), ((), True)):
            first = await many.stacks.page(StackQuery(orders=orders, limit=10), everywhere=everywhere)
            await many.stacks.page(StackQuery(orders=orders, limit=10, marker=first[-1]["id"]), everywhere=everywhere)
        assert (await lab.delete())["status"] == "COMPLETE"
        await engine.store.write(lambda connection: release.workers(connection, ["of-nobody"], engine.clock.now()))


def scans(connection: sa.Connection, statement: str, values: Any) -> set[str]:
    """The big tables that a statement reads whole."""
    if databases.ON == "sqlite":
        told = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
        return {found[1] for one in told if (found := re.match(r"SCAN (\w+)$", one)) and found[1] in BIG}
    if databases.ON == "mariadb":
        told = [row._mapping for row in connection.exec_driver_sql(f"EXPLAIN {statement}", values)]
        return {one["table"] for one in told
                if one["table"] in BIG and one["type"] in ("ALL", "index") and int(one["rows"] or 0) > NODES * 4}
    (plan,) = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar_one()
    return set(re.findall(r'"Node Type": "Seq Scan".{0,200}?"Relation Name": "(\w+)"', json.dumps(plan))) & BIG


def test_no_statement_reads_a_whole_table(said: tuple[Any, Said]) -> None:
    folder, heard = said
    assert len(heard.statements) > 80
    with databases.looking(folder) as connection:
        assert scans(connection, "SELECT id FROM nodes WHERE digest = 'none'", ()) == {"nodes"}, "it would be found"
    bad: dict[str, set[str]] = {}
    for statement, values in heard.statements.values():
        # One by one: what an explained statement fails at must not fail the next.
        with databases.looking(folder) as connection:
            found = scans(connection, statement, values)
            connection.rollback()
        if found and not any(re.search(pattern, statement, re.DOTALL) for pattern in WHOLE):
            bad[statement] = found
    assert not bad, "\n\n".join(f"{', '.join(tables)}: {statement}" for statement, tables in bad.items())


SORTING = {"sqlite": "TEMP B-TREE", "postgresql": "'Node Type': 'Sort'", "mariadb": "filesort"}
EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN (FORMAT JSON)", "mariadb": "EXPLAIN"}
# A page of stacks, and what is due.
FIRST = r"FROM (stacks|nodes) .*ORDER BY (stacks\.created_at|nodes\.due)\b.* LIMIT"


def test_the_first_of_many_are_found_without_sorting_all(said: tuple[Any, Said]) -> None:
    folder, heard = said
    pages = [(statement, values) for statement, values in heard.statements.values()
             if re.search(FIRST, " ".join(statement.split()))]
    assert len(pages) >= 5
    for statement, values in pages:
        with databases.looking(folder) as connection:
            told = str(connection.exec_driver_sql(f"{EXPLAIN[databases.ON]} {statement}", values).all())
        assert SORTING[databases.ON] not in told, (statement, told)
