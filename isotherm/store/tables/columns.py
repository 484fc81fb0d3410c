"""The metadata that all tables belong to, and the types of their columns."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def index(name: str, *columns: str, **of_databases: Any) -> sa.Index:
    """Return an index. Options of single databases (`sqlite_where`) wait until it is made: SQLAlchemy loads a database's
    dialect to check them, and a process uses one only (decision 33).
    """
    return sa.Index(name, *columns, info=of_databases)


@sa.event.listens_for(sa.Index, "before_create")
def _set_options(made: sa.Index, connection: sa.Connection, **_: Any) -> None:
    database = connection.dialect.name
    for key, value in made.info.items():
        if key.startswith(f"{database}_"):
            made.dialect_kwargs[key] = value


@sa.event.listens_for(sa.Table, "before_create")
def _compare_by_code_point(table: sa.Table, connection: sa.Connection, **_: Any) -> None:
    """Make MariaDB compare texts by code point: by default 'A', 'a' and 'a ' are equal there."""
    if table.metadata is metadata and connection.dialect.name == "mysql":
        table.dialect_options["mysql"].update(engine="InnoDB", charset="utf8mb4", collate="utf8mb4_nopad_bin")


class _LongText(sa.Text):
    """MariaDB's type for long texts, rendered by its name: importing the dialect's own class takes long."""

    __visit_name__ = "LONGTEXT"


Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Uuid = sa.String(36)
# Ordered by code point, as on SQLite.
Name = sa.String(255).with_variant(sa.String(255, collation="C"), "postgresql")
Text = sa.Text().with_variant(_LongText(), "mysql", "mariadb")
Json = Text
# Names from outside of any length: a type may be a URL, a physical id a path. Ordered by code point too.
LongName = Text.with_variant(sa.Text(collation="C"), "postgresql")
Time: sa.Double[float] = sa.Double()
Tag = sa.String(80)
