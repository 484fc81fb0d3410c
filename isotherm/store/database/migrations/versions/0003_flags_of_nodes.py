"""Split `nodes.dirty` into `outdated` and `awaits_cleanup`, and index `nodes.worker`.

`dirty` was a counter of changes (update nodes), a flag "its deletion is planned" (clean-up nodes), or -1 for "to be
deleted" (visited nodes). Each step looks at the table first: MariaDB commits every DDL statement, so that a migration
that was killed goes on where it stopped.
"""

import sqlalchemy as sa
from alembic import op

from isotherm.states import NodeKind
from isotherm.store.tables import nodes

revision = "0003"
down_revision = "0002"

_NEW = ("outdated", "awaits_cleanup")
_INDEX = next(index for index in nodes.indexes if index.name == "ix_nodes_worker")
_UPDATE, _CLEANUP, _VISIT = int(NodeKind.UPDATE), int(NodeKind.CLEANUP), int(NodeKind.VISIT)
_TABLE = sa.table("nodes", sa.column("kind", sa.SmallInteger), sa.column("dirty", sa.Integer),
                  *(sa.column(name, sa.Boolean) for name in _NEW))


def _columns() -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns("nodes")}


def upgrade() -> None:
    present = _columns()
    for name in _NEW:
        if name not in present:
            op.add_column("nodes", sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
    if "dirty" in present:
        node = _TABLE.c
        changed = sa.and_(node.kind.in_((_UPDATE, _VISIT)), node.dirty > 0)
        dropped = sa.or_(sa.and_(node.kind == _VISIT, node.dirty < 0), sa.and_(node.kind == _CLEANUP, node.dirty <= 0))
        for column, condition in ((node.outdated, changed), (node.awaits_cleanup, dropped)):
            op.execute(sa.update(_TABLE).where(condition).values({column: sa.true()}))
        op.drop_column("nodes", "dirty")
    _INDEX.create(op.get_bind(), checkfirst=True)


def downgrade() -> None:
    _INDEX.drop(op.get_bind(), checkfirst=True)
    present, node = _columns(), _TABLE.c
    if "dirty" not in present:
        op.add_column("nodes", sa.Column("dirty", sa.Integer, nullable=False, server_default="0"))
    if present.issuperset(_NEW):
        planned = sa.and_(node.kind == _CLEANUP, node.awaits_cleanup == sa.false())
        op.execute(sa.update(_TABLE).where(sa.or_(node.outdated == sa.true(), planned)).values(dirty=1))
        visited = sa.and_(node.kind == _VISIT, node.awaits_cleanup == sa.true())
        op.execute(sa.update(_TABLE).where(visited).values(dirty=-1))
    for name in _NEW:
        if name in present:
            op.drop_column("nodes", name)
