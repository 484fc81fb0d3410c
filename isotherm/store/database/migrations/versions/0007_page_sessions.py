"""A table of the sessions of browsers."""

from alembic import op

from isotherm.store.tables import page_sessions

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    # A database that begins with this version has it from the tables.
    page_sessions.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    page_sessions.drop(op.get_bind(), checkfirst=True)
