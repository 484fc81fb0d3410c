"""One statement for many rows.

A statement is written with SQLAlchemy and compiled once for each dialect; its rows then go to the driver as tuples. The
path through SQLAlchemy's own executemany costs about three times as much, all of it in building parameter dictionaries.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa


class Bulk:
    """Executes a statement for many rows, each a tuple in the order of `names`."""

    def __init__(self, statement: sa.Insert | sa.Update | sa.Delete, *names: str) -> None:
        self._statement = statement
        self._names = names
        self._compiled: dict[str, _Compiled] = {}

    def __call__(self, connection: sa.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
        many = list(rows)
        if many:
            compiled = self._compiled.get(connection.dialect.name) or self._compile(connection.dialect)
            connection.exec_driver_sql(compiled.text, [compiled.arrange(row + compiled.constants) for row in many])

    def _compile(self, dialect: sa.Dialect) -> _Compiled:
        statement = self._statement.compile(dialect=dialect, column_keys=list(self._names))
        # What the statement says itself (a NULL, an increment) has a place among the parameters too.
        fixed = [name for name in statement.positiontup or () if name not in self._names]
        given = [*self._names, *fixed]
        order = [given.index(name) for name in statement.positiontup or ()]
        compiled = _Compiled(
            str(statement), tuple(statement.params[name] for name in fixed), operator.itemgetter(*order)
        )
        self._compiled[dialect.name] = compiled
        return compiled


@dataclass(frozen=True, slots=True)
class _Compiled:
    text: str
    constants: tuple[Any, ...]
    # From a row and the constants to the order in which the text has them.
    arrange: Callable[[tuple[Any, ...]], tuple[Any, ...]]


def insert(table: sa.Table, *names: str) -> Bulk:
    return Bulk(sa.insert(table), *names)
