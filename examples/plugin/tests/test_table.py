"""The type passes the conformance kit. The constraint and the function are tested as what they are: functions."""

import contextlib
import sqlite3
import tempfile
from pathlib import Path

import pytest
from isotherm_example_sqlite import constraint, function, lifecycle
from isotherm_example_sqlite.table import BOOK, Table

from isotherm.plugins.lifecycle import StackOperation
from isotherm.template.functions.node import Misuse
from isotherm.testing import Example, conformance

FILE = str(Path(tempfile.mkdtemp()) / "test.db")
MADE = {"file": FILE, "name": "customers", "columns": {"id": "INTEGER"}}


@pytest.fixture(autouse=True)
def _empty_file():
    Path(FILE).unlink(missing_ok=True)
    yield
    Path(FILE).unlink(missing_ok=True)


def _ask(statement):
    with contextlib.closing(sqlite3.connect(FILE)) as database, database:
        return database.execute(statement).fetchall()


def _tables(folder):
    return [name for (name,) in _ask("SELECT name FROM sqlite_master WHERE type = 'table'") if name != BOOK]


test_table = conformance(Example(
    Table,
    MADE,
    in_place={**MADE, "columns": {"id": "INTEGER", "name": "TEXT"}, "comment": "One row for each customer."},
    replacing={**MADE, "name": "clients"},
    objects=_tables,
    drift=lambda folder, physical_id: _ask(f"UPDATE {BOOK} SET comment = 'changed'"),
    vanish=lambda folder, physical_id: _ask("DROP TABLE customers"),
))


@pytest.mark.parametrize(("value", "is_right"), [("customers", True), ("_a1", True), ("1a", False), ("a-b", False),
                                                 ("sqlite_x", False), ("", False)])
def test_names(value, is_right):
    assert (constraint.check_name(value) is None) is is_right


def test_columns():
    call = function.SqliteColumns("sqlite_columns", None)
    assert call.evaluate("id INTEGER, name TEXT", None) == {"id": "INTEGER", "name": "TEXT"}
    for wrong in ("id", ["id"]):
        with pytest.raises(Misuse):
            call.evaluate(wrong, None)


def test_reserved_names_of_stacks():
    hook = lifecycle.RefuseReservedNames()
    hook.before(StackOperation("p", "1", "shop", "CREATE"))
    with pytest.raises(ValueError, match="sqlite_"):
        hook.before(StackOperation("p", "1", "sqlite_shop", "CREATE"))
