"""Writing nodes in bulk: new ones, and old ones that get a part in a new traversal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from isotherm.states import EdgeKind, NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import NodeWrite, Operation


def insert(connection: sa.Connection, new: Sequence[NodeWrite], operation: Operation, now: float) -> None:
    values = [
        {"id": w.id, "stack_id": operation.stack_id, "name": w.name, "kind": w.kind, "state": w.state,
         "generation": operation.generation, "pending": w.pending, "dirty": w.dirty, "definition": w.definition,
         "digest": w.digest, "resource_id": w.resource_id, "fence": 0,
         "due": now if w.state == NodeState.SCHEDULED else None}
        for w in new
    ]  # fmt: skip
    if values:
        connection.execute(sa.insert(t.nodes), values)


def rewrite(connection: sa.Connection, writes: Sequence[NodeWrite], generation: int, now: float) -> None:
    """Give nodes that exist a part in a new traversal. A lease that somebody still has is respected."""
    node = t.nodes.c
    ready: Any = sa.bindparam("n_state") == int(NodeState.SCHEDULED)
    statement = (
        sa.update(t.nodes)
        .where(node.id == sa.bindparam("n_id"))
        .values(kind=sa.bindparam("n_kind"), state=sa.bindparam("n_state"), pending=sa.bindparam("n_pending"),
                dirty=sa.bindparam("n_dirty"), generation=generation, reason=None,
                due=sa.case((ready, rows.scheduled_from("n_now")), else_=None))
    )  # fmt: skip
    if writes:
        connection.execute(
            statement,
            [{"n_id": w.id, "n_kind": w.kind, "n_state": w.state, "n_pending": w.pending, "n_dirty": w.dirty,
              "n_now": now}
             for w in writes],
        )  # fmt: skip


def forget_edges(connection: sa.Connection, node_ids: Collection[int], *, keep: EdgeKind | None = None) -> None:
    """Take away the edges of these nodes, except those of the kind to keep."""
    if not node_ids:
        return
    edge = t.edges.c
    spared = edge.kind != keep if keep is not None else sa.true()
    for end in (edge.src, edge.dst):
        connection.execute(sa.delete(t.edges).where(rows.among(end), spared), rows.ids(node_ids))
