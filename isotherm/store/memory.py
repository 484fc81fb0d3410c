"""A store in memory, for the simulator: the production tables and units of work, on one SQLite connection.

One database per process is enough: it is emptied between two runs, so that statements stay compiled. `read_table` gives
the simulator's witness whole tables as they are committed, without using any code of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.database.writer import Unit, run_group

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing


class MemoryDatabase:
    """A database in memory with all tables, empty at first."""

    def __init__(self, ring: Callable[[], KeyRing] | None = None) -> None:
        self.engine = sa.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False},
                                       execution_options=sealing.options(ring))
        self._sealing = None if ring is None else sealing.Sealing(ring())
        sa.event.listen(self.engine, "connect", _let_us_begin)
        sa.event.listen(self.engine, "begin", _begin)
        t.metadata.create_all(self.engine)
        with self.engine.connect() as connection:
            self._raw: Any = connection.connection.driver_connection
        self._rows = {
            table.name: _row_type(table.name, [column.name for column in table.columns])
            for table in t.metadata.sorted_tables
        }
        # Tables that were read since the last write.
        self._looked: dict[tuple[str, int | None], list[Any]] = {}
        self._changes = -1
        self.reset()

    def reset(self) -> None:
        """Delete all rows."""
        self._looked.clear()
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")
        for name in self._rows:
            self._raw.execute(f"DELETE FROM {name}")
        self._raw.execute("INSERT INTO sequences (name, next) VALUES ('ids', 1)")

    def run(self, units: Sequence[Unit[Any]]) -> list[Any]:
        """Run the units as the production store does: one transaction, and to each its result or its exception."""
        return run_group(self.engine, list(units))

    def try_out(self, units: Sequence[Unit[Any]]) -> None:
        """Run the units and roll back, as a database does that requests a retry."""
        try:
            with self.engine.connect() as connection, connection.begin():
                for unit in units:
                    unit(connection)
                raise _TakeBack
        except Exception:  # noqa: BLE001 - what a rehearsal raises, the real run will raise again
            return

    def read_table(self, table: str, after: int | None = None) -> list[Any]:
        """Return all rows of a table as named tuples; `after`: only those with a higher id."""
        if self._raw.total_changes != self._changes:
            self._looked.clear()
            self._changes = self._raw.total_changes
        if (table, after) not in self._looked:
            self._looked[table, after] = self._read(table, after)
        return self._looked[table, after]

    def _read(self, table: str, after: int | None) -> list[Any]:
        query = f"SELECT * FROM {table}" if after is None else f"SELECT * FROM {table} WHERE id > {after} ORDER BY id"
        found = [self._rows[table](*row) for row in self._raw.execute(query)]
        return found if self._sealing is None or table != "resources" else [self._opened(row) for row in found]

    def _opened(self, row: Any) -> Any:
        assert self._sealing is not None
        opened = self._sealing.open
        return row._replace(**{name: opened(getattr(row, name), name, row.id, row.stack_id) for name in rows.SEALED})

    def reorder(self, now: float, order: Callable[[int], float]) -> None:
        """Change the order of due nodes: `order` returns by how many seconds, below one, a node is due earlier."""
        for row in self.read_table("nodes"):
            if row.due is not None and row.due <= now:
                self._raw.execute("UPDATE nodes SET due = ? WHERE id = ?", (now - order(row.id), row.id))

    def count(self, table: str) -> int:
        return int(self._raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


class _TakeBack(Exception):
    """Ends a rehearsal."""


def _row_type(name: str, columns: list[str]) -> Any:
    return NamedTuple(name.title(), [(column, Any) for column in columns])


def _let_us_begin(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _begin(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN")
