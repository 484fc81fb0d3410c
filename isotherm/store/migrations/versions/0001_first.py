"""The first schema.

It is built from the tables as they stand: until the first release, the first migration is the schema. From the first
release on it is frozen, and every change is a migration of its own.
"""

from alembic import op

from isotherm.store import watch_tables
from isotherm.store.tables import metadata, sequences

# Named, so that its tables are among them.
assert watch_tables.watches.metadata is metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    op.bulk_insert(sequences, [{"name": "ids", "next": 1}])


def downgrade() -> None:
    metadata.drop_all(op.get_bind())
