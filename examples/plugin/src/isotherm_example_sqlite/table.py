"""The resource type Example::SQLite::Table: a table in a SQLite file."""

import contextlib
import sqlite3
from pathlib import Path

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.schema import CACHE_NONE, INTEGER, MAP, STRING, AttributeSchema, Schema
from isotherm.template.parameters.constraints import AllowedValues, CustomConstraint

# The table in which the plug-in keeps the token and the comment of each table that it has made.
BOOK = "isotherm_tables"
_COLUMN = Schema(STRING, constraints=(AllowedValues(allowed=("INTEGER", "REAL", "TEXT", "BLOB")),))


class Table(contract.Resource):
    """A table in a SQLite file."""

    TYPE = "Example::SQLite::Table"
    DESCRIPTION = "A table in a SQLite file on the machine of the engine."
    properties_schema = {
        "file": Schema(STRING, "The absolute path of the file.", required=True, observable=False),
        "name": Schema(STRING, "The name of the table; by default a new one.", observable=False,
                       constraints=(CustomConstraint(constraint="example.sqlite_name"),)),
        "columns": Schema(MAP, "The type of each column, by name.", required=True, update_allowed=True, schema=_COLUMN),
        "comment": Schema(STRING, "What the table is for.", default="", update_allowed=True),
    }
    attributes_schema = {
        "name": AttributeSchema("The name of the table.", STRING),
        "rows": AttributeSchema("The number of rows that it has now.", INTEGER, CACHE_NONE),
    }
    traits = contract.Traits(call_timeout_s=20)

    @classmethod
    def validate_properties(cls, properties):
        if not properties["columns"]:
            yield "a table needs at least one column"

    def handle_create(self):
        name = self.properties["name"] or self.physical_name
        with self._writing() as database:
            if _columns(database, name):
                raise errors.Permanent(f"{self.properties['file']} has a table {name} already")
            columns = ", ".join(f"{_quoted(column)} {type_}" for column, type_ in self.properties["columns"].items())
            database.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
            database.execute(f"INSERT OR REPLACE INTO {BOOK} (name, token, comment) VALUES (?, ?, ?)",
                             (name, self.token, self.properties["comment"]))
        self.physical_id = f"{self.properties['file']}:{name}"

    def handle_delete(self):
        if self.physical_id is None or not Path(self.properties["file"]).exists():
            return
        with self._writing() as database:
            database.execute(f"DROP TABLE IF EXISTS {_quoted(self.table)}")
            database.execute(f"DELETE FROM {BOOK} WHERE name = ?", (self.table,))

    def find_by_token(self):
        with self._reading() as database:
            if not _columns(database, BOOK):
                return contract.Absent()
            row = database.execute(f"SELECT name FROM {BOOK} WHERE token = ?", (self.token,)).fetchone()
        return contract.found(None if row is None else f"{self.properties['file']}:{row[0]}")

    def handle_update(self, before, changed):
        with self._writing() as database:
            present = _columns(database, self.table)
            if not present:
                raise errors.Permanent(f"there is no table {self.table}")
            for column, type_ in self.properties["columns"].items():
                if column not in present:
                    database.execute(f"ALTER TABLE {_quoted(self.table)} ADD COLUMN {_quoted(column)} {type_}")
            database.execute(f"UPDATE {BOOK} SET comment = ? WHERE name = ?", (self.properties["comment"], self.table))

    def needs_replace(self, before, after, changed):
        kept = {column: after["columns"].get(column) for column in before["columns"]}
        return None if kept == before["columns"] else "columns"

    def handle_get_reality(self):
        with self._reading() as database:
            columns = _columns(database, self.table)
            if not columns:
                return contract.Gone()
            row = database.execute(f"SELECT comment FROM {BOOK} WHERE name = ?", (self.table,)).fetchone()
        return contract.Seen({"columns": columns, "comment": "" if row is None else row[0]})

    def attribute(self, name):
        if name == "name":
            return self.table
        with self._reading() as database:
            return database.execute(f"SELECT count(*) FROM {_quoted(self.table)}").fetchone()[0]

    @property
    def table(self):
        """The name of the table: the part of the physical id behind the path of the file."""
        return self.physical_id.removeprefix(f"{self.properties['file']}:")

    @contextlib.contextmanager
    def _writing(self):
        """Open the file and change it in one transaction."""
        with contextlib.closing(sqlite3.connect(self.properties["file"], timeout=5, isolation_level=None)) as database:
            try:
                database.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise errors.NotBegun(f"{self.properties['file']}: {error}", retry_after_s=2) from error
            database.execute(f"CREATE TABLE IF NOT EXISTS {BOOK} (name TEXT PRIMARY KEY, token TEXT, comment TEXT)")
            yield database
            database.execute("COMMIT")

    @contextlib.contextmanager
    def _reading(self):
        """Open the file without making it."""
        path = Path(self.properties["file"])
        where = path.absolute().as_uri() + "?mode=ro" if path.exists() else ":memory:"
        with contextlib.closing(sqlite3.connect(where, timeout=5, uri=True)) as database:
            try:
                yield database
            except sqlite3.OperationalError as error:
                raise errors.Temporary(f"{path}: {error}") from error


def _columns(database, table):
    """Return the type of each column by name; nothing if there is no such table."""
    return {row[1]: row[2] for row in database.execute(f"PRAGMA table_info({_quoted(table)})")}


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'
