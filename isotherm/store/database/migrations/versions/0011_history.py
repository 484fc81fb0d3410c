"""The history of stacks: the inputs of their last operations. The scope of operations that leave resources out."""

import sqlalchemy as sa
from alembic import op

from isotherm.store.tables import history
from isotherm.store.tables.columns import Json

revision = "0011"
down_revision = "0010"

# The last complete operation of each root stack and the newest one are kept already.
_SEED = """
INSERT INTO history (stack_id, generation, last_generation, operation_id, input, action, username, created_at, status,
                     ended_at)
SELECT o.stack_id, o.generation, o.generation, o.id, o.input, o.action, '', o.created_at,
       CASE WHEN o.id = s.complete_operation_id THEN 2 WHEN o.ended_at IS NULL THEN 1 ELSE 3 END, o.ended_at
FROM operations o JOIN stacks s ON s.id = o.stack_id
WHERE s.owner_id IS NULL AND s.tomb = '' AND o.action NOT IN (3, 5, 6, 7, 8)
      AND NOT EXISTS (SELECT 1 FROM history h WHERE h.stack_id = o.stack_id AND h.generation = o.generation)
"""


def _has_scope() -> bool:
    return "scope" in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("operations")}


def upgrade() -> None:
    # A database that begins with this version has both from the tables.
    history.create(op.get_bind(), checkfirst=True)
    op.execute(sa.text(_SEED))
    if not _has_scope():
        op.add_column("operations", sa.Column("scope", Json))


def downgrade() -> None:
    if _has_scope():
        op.drop_column("operations", "scope")
    history.drop(op.get_bind(), checkfirst=True)
