"""An index on the physical ids of resources: before an object is deleted or adopted, its other holders are looked for."""

from alembic import op

from isotherm.store.tables import resources

revision = "0002"
down_revision = "0001"

_INDEX = next(index for index in resources.indexes if index.name == "ix_resources_physical_id")


def upgrade() -> None:
    # A database that begins with this version has it from the tables.
    _INDEX.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    _INDEX.drop(op.get_bind(), checkfirst=True)
