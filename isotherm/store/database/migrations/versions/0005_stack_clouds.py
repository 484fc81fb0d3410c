"""A table of the clouds in which the objects of stacks are."""

from alembic import op

from isotherm.store.tables import stack_clouds

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    # A database that begins with this version has it from the tables.
    stack_clouds.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    stack_clouds.drop(op.get_bind(), checkfirst=True)
