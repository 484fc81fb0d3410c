"""Lists of ids lead through an index on every database: a statement about few rows must not read them all."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite

from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import id_lists
from isotherm.store.memory import MemoryDatabase
from isotherm.store.queue import claim
from isotherm.store.transitions import nodes

DIALECTS: list[Any] = [sqlite, postgresql, mysql]
STATEMENTS = {
    "select": claim._LOAD, "versions": rows._SELECT_VERSIONS, "update": nodes._CLAIM,
    "delete": sa.delete(t.nodes).where(id_lists.among(t.nodes.c.id), t.nodes.c.kind == 1),
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_sqlite_searches_by_the_key(statement: Any) -> None:
    compiled = statement.compile(dialect=sqlite.dialect(), column_keys=[])
    explained = MemoryDatabase()._raw.execute(f"EXPLAIN QUERY PLAN {compiled}", ["[]"] * len(compiled.positiontup))
    plan = [row[3] for row in explained]
    assert any(line.startswith("SEARCH") and "INTEGER PRIMARY KEY" in line for line in plan), plan


@pytest.mark.parametrize("dialect", [module.dialect() for module in DIALECTS], ids=lambda one: one.name)
def test_a_list_is_a_condition_and_nothing_more(dialect: Any) -> None:
    text = str(sa.select(t.nodes.c.id).where(id_lists.among(t.nodes.c.id), t.nodes.c.kind == 1).compile(dialect=dialect))
    assert ") = 1" not in text.replace(" = %s", "").replace(" = ?", "")
    assert text.count("nodes.id") == 2
