"""Tables of what is delivered to sinks."""

from alembic import op

from isotherm.store.tables import deliveries, scalings

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    # A database that begins with this version has them from the tables.
    for table in (deliveries, scalings):
        table.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    for table in (scalings, deliveries):
        table.drop(op.get_bind(), checkfirst=True)
