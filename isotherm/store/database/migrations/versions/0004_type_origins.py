"""A table of the packages that types of plug-ins come from."""

from alembic import op

from isotherm.store.tables import type_origins

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    # A database that begins with this version has it from the tables.
    type_origins.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    type_origins.drop(op.get_bind(), checkfirst=True)
