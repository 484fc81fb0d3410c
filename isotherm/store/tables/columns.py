"""The metadata that all tables belong to, and the types of their columns."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


@sa.event.listens_for(sa.Table, "after_parent_attach")
def _compare_by_code_point(table: sa.Table, parent: object) -> None:
    """Make MariaDB compare texts by code point: by default 'A', 'a' and 'a ' are equal there."""
    if parent is metadata:
        table.dialect_options["mysql"].update(engine="InnoDB", charset="utf8mb4", collate="utf8mb4_nopad_bin")


Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Uuid = sa.String(36)
# Ordered by code point, as on SQLite.
Name = sa.String(255).with_variant(sa.String(255, collation="C"), "postgresql")
Text = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
Json = Text
# Names from outside of any length: a type may be a URL, a physical id a path. Ordered by code point too.
LongName = Text.with_variant(sa.Text(collation="C"), "postgresql")
Time: sa.Double[float] = sa.Double()
Tag = sa.String(80)
