"""The first schema.

It is built from the tables as they stand: until the first release, the first migration is the schema. From the first
release on it is frozen, and every change is a migration of its own.
"""

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables import metadata, sequences, turns

revision = "0001"
down_revision = None


def upgrade() -> None:
    bind = op.get_bind()
    metadata.create_all(bind)
    # Where a database commits each table by itself, one that was killed before leaves some behind.
    for table, row in ((sequences, {"name": "ids", "next": 1}), (turns, {"id": 1})):
        if bind.execute(sa.select(table)).first() is None:
            op.bulk_insert(table, [row])


def downgrade() -> None:
    metadata.drop_all(op.get_bind())
