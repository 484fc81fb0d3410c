"""Column for the name of the stack in which a version was made, where a move has taken it to another one.

It looks first: MariaDB commits every DDL statement, so that a migration that was killed goes on where it stopped.
"""

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables.columns import Text

revision = "0014"
down_revision = "0013"


def _has_column() -> bool:
    return any(column["name"] == "made_in" for column in sa.inspect(op.get_bind()).get_columns("resources"))


def upgrade() -> None:
    if not _has_column():
        op.add_column("resources", sa.Column("made_in", Text))


def downgrade() -> None:
    if _has_column():
        op.drop_column("resources", "made_in")
