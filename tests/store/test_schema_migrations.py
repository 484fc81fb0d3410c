"""A database of an older version gets the missing columns and tables, and keeps its rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command, config

from isotherm.states import NodeKind
from isotherm.store import tables as t
from isotherm.store.database import connect, schema
from isotherm.store.database.writer import ThreadedStore
from tests import databases

MIGRATIONS = Path(schema.__file__).parent / "migrations"
INDEXES = {"ix_resources_physical_id": t.resources, "ix_nodes_worker": t.nodes}
# By kind and `dirty`, what the version before wrote: `outdated` and `awaits_cleanup`.
FLAGS = {
    (NodeKind.UPDATE, 0): (False, False), (NodeKind.UPDATE, 3): (True, False),
    (NodeKind.CLEANUP, 0): (False, True), (NodeKind.CLEANUP, -1): (False, True), (NodeKind.CLEANUP, 1): (False, False),
    (NodeKind.VISIT, 0): (False, False), (NodeKind.VISIT, 1): (True, False), (NodeKind.VISIT, -1): (False, True),
    (NodeKind.BARRIER, 0): (False, False),
}
# Columns with another name since 0006: before and after, by table.
RENAMED = {
    ("observations", "sight", "result"), ("repairs", "told_at", "reported_at"), ("observers", "looks", "observations"),
    ("watches", "looked_at", "observed_at"), ("watches", "asked_at", "requested_at"),
}
OLD_REPAIRS = sa.table("repairs", *(sa.column(name) for name in ("stack_id", "name", "told_at", "rounds")))
OLD = sa.table("nodes", *(sa.column(name) for name in (
    "id", "stack_id", "name", "kind", "state", "generation", "pending", "dirty", "fence", "worker")))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    """A database of the first version, with nodes in it."""
    url = databases.url_of(tmp_path)
    ThreadedStore.open(url).close()
    engine = sa.create_engine(connect.parsed(url), poolclass=sa.NullPool)
    migrate(engine, "0001")
    with engine.begin() as connection:
        connection.execute(sa.insert(OLD), [
            {"id": number, "stack_id": "s", "name": f"n{number}", "kind": int(kind), "state": 0, "generation": 1,
             "pending": 0, "dirty": dirty, "fence": 0, "worker": None}
            for number, (kind, dirty) in enumerate(FLAGS)])
        connection.execute(sa.insert(OLD_REPAIRS), {"stack_id": "s", "name": "n1", "told_at": 7.5, "rounds": 2})
    yield engine
    migrate(engine, "head")


def migrate(engine: sa.Engine, revision: str) -> None:
    """Go up or down to a revision."""
    settings = config.Config()
    settings.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        settings.attributes["connection"] = connection
        (command.upgrade if revision == "head" else command.downgrade)(settings, revision)


def check(engine: sa.Engine, url: str) -> None:
    ThreadedStore.open(url).close()
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        for name, table in INDEXES.items():
            assert name in {one["name"] for one in inspector.get_indexes(table.name)}
        assert {one["name"] for one in inspector.get_columns("nodes")} == set(t.nodes.c.keys())
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == schema.HEAD
        for where, before, after in RENAMED:
            present = {one["name"] for one in inspector.get_columns(where)}
            assert (before in present, after in present) == (False, True)
        assert connection.execute(sa.select(t.repairs.c.reported_at, t.repairs.c.rounds)).all() == [(7.5, 2)]
        node = t.nodes.c
        found = connection.execute(sa.select(node.outdated, node.awaits_cleanup).order_by(node.id)).all()
        assert [tuple(row) for row in found] == list(FLAGS.values())


def test_the_schema_of_the_first_version_is_brought_up_to_date(engine: Any, tmp_path: Path) -> None:
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        for table, before in [("nodes", "dirty"), *((table, before) for table, before, _ in RENAMED)]:
            assert before in {one["name"] for one in inspector.get_columns(table)}
    check(engine, databases.url_of(tmp_path))


def test_a_migration_that_was_killed_half_way_goes_on(engine: Any, tmp_path: Path) -> None:
    """MariaDB commits each statement that changes a table."""
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE nodes ADD COLUMN outdated BOOLEAN DEFAULT false NOT NULL"))
        connection.execute(sa.text("ALTER TABLE repairs RENAME COLUMN told_at TO reported_at"))
    check(engine, databases.url_of(tmp_path))
