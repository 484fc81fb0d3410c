"""Columns that say what stacks and the objects of resources are protected from, and an index of the protected ones.

Each step looks at the table first: MariaDB commits every DDL statement.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables import resources

revision = "0009"
down_revision = "0008"

_COLUMNS: dict[str, dict[str, tuple[Any, Any]]] = {
    "resources": {"protection": (sa.SmallInteger(), "0"), "protector": (sa.String(255), ""),
                  "template_protection": (sa.SmallInteger(), "0")},
    "stacks": {"protected": (sa.Boolean(), sa.false()), "protector": (sa.String(255), "")},
}
_INDEX = next(index for index in resources.indexes if index.name == "ix_resources_protected")


def _present(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}


def upgrade() -> None:
    for table, columns in _COLUMNS.items():
        present = _present(table)
        for name, (type_, default) in columns.items():
            if name not in present:
                op.add_column(table, sa.Column(name, type_, nullable=False, server_default=default))
    _INDEX.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    _INDEX.drop(op.get_bind(), checkfirst=True)
    for table, columns in _COLUMNS.items():
        present = _present(table)
        for name in columns:
            if name in present:
                op.drop_column(table, name)
