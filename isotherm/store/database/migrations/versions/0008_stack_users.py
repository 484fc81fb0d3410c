"""Tables of stack users and of their projects."""

from alembic import op

from isotherm.store.tables import stack_user_projects, stack_users

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    # A database that begins with this version has them from the tables.
    for table in (stack_user_projects, stack_users):
        table.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    for table in (stack_users, stack_user_projects):
        table.drop(op.get_bind(), checkfirst=True)
