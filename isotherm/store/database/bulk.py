"""One statement for many rows, in the form that is fastest on each database.

A statement is written with SQLAlchemy for one row, and compiled once for each dialect. Its rows are passed directly to the
driver: SQLAlchemy's executemany costs about three times as much, for building parameter dictionaries. SQLite gets rows one
by one, without a round trip. PostgreSQL gets an array for each column, MariaDB one JSON text; the statement reads the rows
from it as from a table. Such a join changes a row once, so a second change of the same row goes into another batch.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators, visitors
from sqlalchemy.sql.functions import FunctionElement

# Maximum number of rows and bytes in one statement: MariaDB limits the size of a packet.
PIECE = 1000
PIECE_BYTES = 4 << 20
Rows = Sequence[tuple[Any, ...]]
_Statement = sa.Insert | sa.Update | sa.Delete


class Bulk:
    """Executes a statement for many rows, each a tuple in the order of `names`."""

    def __init__(self, statement: _Statement, *names: str) -> None:
        self._statement = statement
        self._names = names
        self._key = _key(statement, names)
        self._ways: dict[str, Callable[[sa.Connection, Rows], None]] = {}

    def __call__(self, connection: sa.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
        many = list(rows)
        if many:
            way = self._ways.get(connection.dialect.name) or self._learn(connection.dialect)
            for batch in self._batches(many) if connection.dialect.name != "sqlite" else [many]:
                for start in range(0, len(batch), PIECE):
                    way(connection, batch if len(batch) <= PIECE else batch[start:start + PIECE])

    def _batches(self, many: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        """Split the rows into batches in which no two change the same row of the table."""
        if not self._key or len({self._key(row) for row in many}) == len(many):
            return [many]
        batches: list[list[tuple[Any, ...]]] = []
        seen: Counter[Any] = Counter()
        for row in many:
            turn = seen[self._key(row)]
            seen[self._key(row)] += 1
            if turn == len(batches):
                batches.append([])
            batches[turn].append(row)
        return batches

    def _learn(self, dialect: sa.Dialect) -> Callable[[sa.Connection, Rows], None]:
        way: Callable[[sa.Connection, Rows], None] = _WAYS[dialect.name](self._statement, self._names, dialect)
        self._ways[dialect.name] = way
        return way


def insert(table: sa.Table, *names: str) -> Bulk:
    return Bulk(sa.insert(table), *names)


@dataclass(frozen=True, slots=True)
class _OneByOne:
    """The driver executes the statement for each row."""

    text: str
    constants: tuple[Any, ...]
    # Orders the values of a row and the constants as the statement needs them.
    arrange: Callable[[tuple[Any, ...]], tuple[Any, ...]]

    @classmethod
    def of(cls, statement: _Statement, names: Sequence[str], dialect: sa.Dialect) -> _OneByOne:
        compiled = statement.compile(dialect=dialect, column_keys=list(names))
        # Constants of the statement (a NULL, an increment) are parameters too.
        fixed = [name for name in compiled.positiontup or () if name not in names]
        given = [*names, *fixed]
        order = [given.index(name) for name in compiled.positiontup or ()]
        return cls(str(compiled), tuple(compiled.params[name] for name in fixed), operator.itemgetter(*order))

    def __call__(self, connection: sa.Connection, rows: Rows) -> None:
        connection.exec_driver_sql(self.text, [self.arrange(row + self.constants) for row in rows])


@dataclass(frozen=True, slots=True)
class _FromArrays:
    """PostgreSQL: an array for each column."""

    text: str
    names: tuple[str, ...]
    constants: dict[str, Any]

    @classmethod
    def of(cls, statement: _Statement, names: Sequence[str], dialect: sa.Dialect) -> _FromArrays:
        types = _types(statement, names, dialect)
        arrays = [sa.bindparam(f"all_{name}", type_=sa.ARRAY(types[name])) for name in names]
        source = sa.func.unnest(*arrays).table_valued(*_columns(types), name="given").render_derived()
        compiled = _reading(statement, source, names).compile(dialect=dialect)
        fixed = {name: value for name, value in compiled.params.items() if not name.startswith("all_")}
        return cls(str(compiled), tuple(names), fixed)

    def __call__(self, connection: sa.Connection, rows: Rows) -> None:
        arrays = zip(self.names, zip(*rows, strict=True), strict=True)
        connection.exec_driver_sql(self.text, {**self.constants, **{f"all_{name}": list(all_) for name, all_ in arrays}})


@dataclass(frozen=True, slots=True)
class _FromJson:
    """MariaDB: one JSON text. The server searches each value from the start of its row, so long values come last."""

    text: str
    constants: dict[str, Any]
    arrange: Callable[[tuple[Any, ...]], Any]

    @classmethod
    def of(cls, statement: _Statement, names: Sequence[str], dialect: sa.Dialect) -> _FromJson:
        types = _types(statement, names, dialect)
        order = sorted(names, key=lambda name: _length(types[name]))
        given = [f"{name} {_NAMES.get(type(types[name]), _TEXT)} PATH '$[{i}]'" for i, name in enumerate(order)]
        source = _JsonTable(sa.bindparam("all_rows", type_=sa.Text()), sa.literal_column(f"({', '.join(given)})"))
        table = source.table_valued(*_columns(types), name="given")
        compiled = _reading(statement, table, names).compile(dialect=dialect)
        fixed = {name: value for name, value in compiled.params.items() if name != "all_rows"}
        # With a single name, itemgetter would return the value instead of a tuple.
        arrange = operator.itemgetter(*(names.index(name) for name in order)) if len(names) > 1 else tuple
        return cls(str(compiled), fixed, arrange)

    def __call__(self, connection: sa.Connection, rows: Rows) -> None:
        text = msgspec.json.encode([self.arrange(row) for row in rows]).decode()
        if len(text) > PIECE_BYTES and len(rows) > 1:
            half = len(rows) // 2
            self(connection, rows[:half])
            self(connection, rows[half:])
            return
        connection.exec_driver_sql(self.text, {**self.constants, "all_rows": text})


# With character set and collation: the defaults of the database may differ from those of our tables.
_TEXT = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
_NAMES: dict[type[Any], str] = {
    sa.BigInteger: "BIGINT", sa.Integer: "BIGINT", sa.SmallInteger: "BIGINT", sa.Double: "DOUBLE", sa.Boolean: "BOOLEAN",
}


def _length(type_: sa.types.TypeEngine[Any]) -> int:
    """Return the rough maximum length of a value of the type; a text without a limit counts as the longest."""
    return (type_.length or sys.maxsize) if isinstance(type_, sa.String) else 0


class _JsonTable(FunctionElement[Any]):
    """A JSON text as a table of these columns."""

    inherit_cache = True
    name = "json_table"


@compiles(_JsonTable, "mysql")
def _json_table(element: _JsonTable, compiler: Any, **options: Any) -> str:
    text, columns = element.clauses
    return f"JSON_TABLE({compiler.process(text, **options)}, '$[*]' COLUMNS {compiler.process(columns, **options)})"


def _key(statement: _Statement, names: Sequence[str]) -> Callable[[tuple[Any, ...]], Any] | None:
    """Return a function that identifies the table row that a row changes; None if rows need no such check."""
    if not isinstance(statement, sa.Update):
        return None
    equal = {one.right.key: one.left for one in visitors.iterate(statement.whereclause)
             if isinstance(one, sa.BinaryExpression) and one.operator is operators.eq
             and isinstance(one.right, sa.BindParameter)}
    columns = {name: equal[name] for name in names if name in equal}
    whole = [name for name, column in columns.items() if getattr(column, "primary_key", False)]
    return operator.itemgetter(*(names.index(name) for name in whole or columns))


def _types(statement: _Statement, names: Sequence[str], dialect: sa.Dialect) -> dict[str, sa.types.TypeEngine[Any]]:
    """Return the type of each parameter: that of the column it is compared with or assigned to. Without one: a time."""
    binds = statement.compile(dialect=dialect, column_keys=list(names)).binds
    found = {name: binds[name].type for name in names}
    return {name: sa.Double() if isinstance(type_, sa.types.NullType) else type_ for name, type_ in found.items()}


def _columns(types: dict[str, sa.types.TypeEngine[Any]]) -> list[sa.ColumnClause[Any]]:
    return [sa.column(name, type_) for name, type_ in types.items()]


def _reading(statement: _Statement, source: sa.FromClause, names: Sequence[str]) -> Any:
    """Return the statement with its parameters replaced by columns of the source."""
    if isinstance(statement, sa.Insert):
        return sa.insert(statement.table).from_select(list(names), sa.select(*source.c))

    def replace(element: Any, **_: Any) -> Any:
        return source.c[element.key] if isinstance(element, sa.BindParameter) and element.key in names else None

    return visitors.replacement_traverse(statement, {}, replace)


_WAYS: dict[str, Any] = {"sqlite": _OneByOne.of, "postgresql": _FromArrays.of, "mysql": _FromJson.of}
