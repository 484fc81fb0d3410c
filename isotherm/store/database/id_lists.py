"""Statements about any number of ids: one bound parameter holds them all, so that the text of the statement stays the same.

Each database has its own way to take a list that its planner understands: SQLite a JSON text, PostgreSQL an array, and
MariaDB the list itself (a subquery would make it read the whole table when it updates).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class _List(sa.types.TypeDecorator[Sequence[Any]]):
    """A list of ids, as the database takes it."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, numbers: bool = False) -> None:
        super().__init__()
        self.numbers = numbers

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(sa.ARRAY(sa.BigInteger() if self.numbers else sa.Text()))
        return dialect.type_descriptor(sa.Text())

    def process_bind_param(self, value: Sequence[Any] | None, dialect: sa.Dialect) -> Any:
        assert value is not None
        if dialect.name == "sqlite":
            return msgspec.json.encode(value).decode()
        # MariaDB has no empty list; nothing is equal to NULL.
        return value if dialect.name == "postgresql" else tuple(value) or (None,)


class _Among(FunctionElement[bool]):
    """A column and a list."""

    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> _Among:
        # It is a condition as it stands. With SQLAlchemy's "= 1" behind it, no index would be used for it.
        return self


@compiles(_Among, "sqlite")
def _sqlite(element: _Among, compiler: Any, **options: Any) -> str:
    column, given = element.clauses
    return f"{compiler.process(column, **options)} IN (SELECT value FROM json_each({compiler.process(given, **options)}))"


@compiles(_Among, "postgresql")
def _postgresql(element: _Among, compiler: Any, **options: Any) -> str:
    column, given = element.clauses
    return f"{compiler.process(column, **options)} = ANY ({compiler.process(given, **options)})"


@compiles(_Among, "mysql")
def _mysql(element: _Among, compiler: Any, **options: Any) -> str:
    column, given = element.clauses
    return f"{compiler.process(column, **options)} IN {compiler.process(given, **options)}"


def among(column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """`column` is one of the ids given as the parameter `ids` (see `ids`)."""
    numbers = isinstance(column.type, sa.Integer)
    return _Among(column, sa.bindparam("ids", type_=_List(numbers)))


def ids(values: Iterable[int | str]) -> dict[str, list[int | str]]:
    return {"ids": list(values)}
