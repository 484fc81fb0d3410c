"""Column for the time at which the intent of the latest creation of a version was stored.

It looks first: MariaDB commits every DDL statement, so that a migration that was killed goes on where it stopped.
"""

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables.columns import Time

revision = "0013"
down_revision = "0012"


def _has_column() -> bool:
    return any(column["name"] == "begun_at" for column in sa.inspect(op.get_bind()).get_columns("resources"))


def upgrade() -> None:
    if not _has_column():
        op.add_column("resources", sa.Column("begun_at", Time, nullable=False, server_default="0"))


def downgrade() -> None:
    if _has_column():
        op.drop_column("resources", "begun_at")
