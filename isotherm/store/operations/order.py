"""Edges that belong to one operation only: the order of its visits and clean-up."""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from isotherm.states import EdgeKind, NodeKind
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.transitions import nodes

_NODE, _EDGE = t.nodes.c, t.edges.c


def delete_edges(connection: sa.Connection, node_ids: Collection[int], *, keep: EdgeKind | None = None) -> None:
    """Delete the edges of these nodes, except those of the kind to keep."""
    if not node_ids:
        return
    deleted = _EDGE.kind != keep if keep is not None else sa.true()
    for end in (_EDGE.src, _EDGE.dst):
        connection.execute(sa.delete(t.edges).where(rows.among(end), deleted), rows.ids(node_ids))


def clear(connection: sa.Connection, stack_id: str) -> None:
    """Delete barriers, the order of clean-up, and clean-up nodes whose version is gone: no other operation needs them.

    Nodes that were to be deleted before they were visited are to be deleted again, whatever the result of the visit.
    """
    nodes.return_to_cleanup(connection, stack_id)
    left = connection.execute(
        sa.select(_NODE.id, _NODE.resource_id).where(
            _NODE.stack_id == stack_id, _NODE.kind.in_((NodeKind.CLEANUP, NodeKind.BARRIER))
        )
    ).all()
    delete_edges(connection, [row.id for row in left], keep=EdgeKind.REQUIRES)
    # A clean-up node without a version would pass for the resource itself, which has the same name.
    nodes.delete(connection, [row.id for row in left if row.resource_id is None])


def clear_visits(connection: sa.Connection, stack_id: str) -> None:
    """Delete the order in which the nodes of the stack were visited."""
    ours = connection.execute(sa.select(_NODE.id).where(_NODE.stack_id == stack_id)).scalars().all()
    connection.execute(sa.delete(t.edges).where(rows.among(_EDGE.src), _EDGE.kind == EdgeKind.ORDER), rows.ids(ours))
