"""Table of moves, and the name under which a moved version was made.

Each step looks first: MariaDB commits every DDL statement, so that a migration that was killed goes on where it stopped.
"""

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables import moves, resources
from isotherm.store.tables.columns import Name

revision = "0012"
down_revision = "0011"

_INDEX = next(index for index in resources.indexes if index.name == "ix_resources_made_as")


def _has_column() -> bool:
    return any(column["name"] == "made_as" for column in sa.inspect(op.get_bind()).get_columns("resources"))


def upgrade() -> None:
    moves.create(op.get_bind(), checkfirst=True)
    if not _has_column():
        op.add_column("resources", sa.Column("made_as", Name))
    _INDEX.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    _INDEX.drop(op.get_bind(), checkfirst=True)
    if _has_column():
        op.drop_column("resources", "made_as")
    moves.drop(op.get_bind(), checkfirst=True)
