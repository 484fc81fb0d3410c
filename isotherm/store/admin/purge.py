"""Unit of work that purges stacks that were deleted long ago, with their events and all their other rows.

A deleted stack that still has a version or a snapshot is kept: these rows may own an object.
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store import rows
from isotherm.store import tables as t

_STACK = t.stacks.c
# Rows that may own an object keep their stack. Sweeps of their own revoke credentials and delete stack users; a deployment
# belongs to its project.
_KEEPING = (t.resources, t.snapshots)
_OTHERS = (t.credentials, t.software_deployments, t.stack_user_projects, t.stack_users)
_OWNED = [table for table in t.metadata.sorted_tables if "stack_id" in table.c and table not in (*_KEEPING, *_OTHERS)]


def deleted(connection: sa.Connection, before: float, project: str | None, limit: int | None = None) -> list[str]:
    """Return the stacks that were deleted before this time and own nothing, oldest first."""
    empty = [~sa.exists().where(table.c.stack_id == _STACK.id) for table in _KEEPING]
    query = sa.select(_STACK.id).where(_STACK.tomb != "", _STACK.deleted_at <= before, *empty)
    if project is not None:
        query = query.where(_STACK.project == project)
    return list(connection.execute(query.order_by(_STACK.deleted_at, _STACK.id).limit(limit)).scalars())


def forget(connection: sa.Connection, before: float, project: str | None, limit: int) -> list[str]:
    """Purge at most `limit` of these stacks. Return their ids."""
    gone = deleted(connection, before, project, limit)
    operations = connection.execute(
        sa.select(t.operations.c.id).where(rows.among(t.operations.c.stack_id)), rows.ids(gone)).scalars().all()
    rows.forget_uses(connection, operations)
    nodes = connection.execute(
        sa.select(t.nodes.c.id).where(rows.among(t.nodes.c.stack_id)), rows.ids(gone)).scalars().all()
    for end in (t.edges.c.src, t.edges.c.dst):
        rows.delete_by_id(connection, end, nodes)
    for table in _OWNED:
        connection.execute(sa.delete(table).where(rows.among(table.c.stack_id)), rows.ids(gone))
    connection.execute(sa.delete(t.stacks).where(rows.among(_STACK.id)), rows.ids(gone))
    return gone
