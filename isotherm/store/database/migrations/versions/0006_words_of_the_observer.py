"""Name columns of the observer's tables with the words of the glossary (docs/architecture.md).

Each step looks at the table first: MariaDB commits every DDL statement, so that a migration that was killed goes on
where it stopped.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables import metadata

revision = "0006"
down_revision = "0005"

# Table, name before, name after.
_RENAMED = (
    ("observations", "sight", "result"),
    ("watches", "looked_at", "observed_at"),
    ("watches", "asked_at", "requested_at"),
    ("repairs", "told_at", "reported_at"),
    ("observers", "looks", "observations"),
)


def _rename(table: str, before: str, after: str, column: sa.Column[Any]) -> None:
    if before in {one["name"] for one in sa.inspect(op.get_bind()).get_columns(table)}:
        op.alter_column(table, before, new_column_name=after, existing_type=column.type, existing_nullable=column.nullable)


def upgrade() -> None:
    for table, before, after in _RENAMED:
        _rename(table, before, after, metadata.tables[table].c[after])


def downgrade() -> None:
    for table, before, after in _RENAMED:
        _rename(table, after, before, metadata.tables[table].c[after])
