"""Writing nodes in bulk: new ones, and old ones that get a part in a new traversal."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import sqlalchemy as sa

from isotherm.states import EdgeKind, NodeKind, NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import bulk, sealing
from isotherm.store.records import NodeWrite, Operation

_INSERT = bulk.insert(
    t.nodes, "id", "stack_id", "name", "kind", "state", "generation", "pending", "dirty", "definition", "digest",
    "resource_id", "fence", "due",
)


def insert(connection: sa.Connection, new: Iterable[NodeWrite], operation: Operation, now: float) -> None:
    seal = sealing.of(connection).seal
    _INSERT(
        connection,
        ((w.id, operation.stack_id, w.name, int(w.kind), int(w.state), operation.generation, w.pending, w.dirty,
          seal(w.definition, "definition", w.id, operation.stack_id), w.digest, w.resource_id, 0,
          now if w.state is NodeState.SCHEDULED else None)
         for w in new),
    )


_READY = sa.bindparam("n_ready", type_=sa.Integer) == 1
_REWRITE = bulk.Bulk(
    sa.update(t.nodes)
    .where(t.nodes.c.id == sa.bindparam("n_id"))
    .values(kind=sa.bindparam("n_kind"), state=sa.bindparam("n_state"), pending=sa.bindparam("n_pending"),
            dirty=sa.bindparam("n_dirty"), generation=sa.bindparam("n_generation"), reason=None,
            due=sa.case((_READY, rows.scheduled_from("n_now")), else_=None)),
    "n_id", "n_kind", "n_state", "n_pending", "n_dirty", "n_generation", "n_ready", "n_now",
)


def rewrite(connection: sa.Connection, writes: Iterable[NodeWrite], generation: int, now: float) -> None:
    """Give nodes that exist a part in a new traversal. A lease that somebody still has is respected."""
    _REWRITE(
        connection,
        ((w.id, int(w.kind), int(w.state), w.pending, w.dirty, generation, int(w.state is NodeState.SCHEDULED), now)
         for w in writes),
    )


_DEFINE = bulk.Bulk(
    sa.update(t.nodes)
    .where(t.nodes.c.id == sa.bindparam("n_id"))
    .values(definition=sa.bindparam("n_definition"), digest=sa.bindparam("n_digest")),
    "n_definition", "n_digest", "n_id",
)


def define(connection: sa.Connection, writes: Iterable[NodeWrite], stack_id: str) -> None:
    """Give nodes that exist a new definition to reach."""
    seal = sealing.of(connection).seal
    _DEFINE(connection, ((seal(w.definition, "definition", w.id, stack_id), w.digest, w.id) for w in writes))


def forget_edges(connection: sa.Connection, node_ids: Collection[int], *, keep: EdgeKind | None = None) -> None:
    """Take away the edges of these nodes, except those of the kind to keep."""
    if not node_ids:
        return
    edge = t.edges.c
    spared = edge.kind != keep if keep is not None else sa.true()
    for end in (edge.src, edge.dst):
        connection.execute(sa.delete(t.edges).where(rows.among(end), spared), rows.ids(node_ids))


# What a node remembers in `dirty` while it is visited: that it is to be deleted. Otherwise, as ever, whether it has to be
# looked at: then it was not up to date before.
DOOMED = -1


def clear_order(connection: sa.Connection, stack_id: str) -> None:
    """Take away what an operation had of its own order: it means nothing to the next one.

    What was to be deleted, and was to be visited before, is to be deleted again, however the visit ended.
    """
    node = t.nodes.c
    connection.execute(
        sa.update(t.nodes).where(node.stack_id == stack_id, node.kind == NodeKind.VISIT, node.dirty == DOOMED)
        .values(kind=NodeKind.CLEANUP, dirty=0)
    )
    left = connection.execute(
        sa.select(node.id, node.resource_id).where(
            node.stack_id == stack_id, node.kind.in_((NodeKind.CLEANUP, NodeKind.BARRIER))
        )
    ).all()
    forget_edges(connection, [row.id for row in left], keep=EdgeKind.REQUIRES)
    # Barriers, and clean-up nodes whose version is gone: one that was deleted after the operation had been given up
    # would pass for the resource itself, which has the same name.
    rows.delete_by_id(connection, node.id, [row.id for row in left if row.resource_id is None])


def forget_order(connection: sa.Connection, stack_id: str) -> None:
    """Take away the order in which the stack's nodes were visited: the operation is over."""
    ours = connection.execute(sa.select(t.nodes.c.id).where(t.nodes.c.stack_id == stack_id)).scalars().all()
    edge = t.edges.c
    connection.execute(sa.delete(t.edges).where(rows.among(edge.src), edge.kind == EdgeKind.ORDER), rows.ids(ours))


def wake_waiters(connection: sa.Connection, operation_id: str, now: float) -> None:
    """The operation has ended: whoever waits for it looks at once. In its transaction, so that nobody can miss it.

    What waits on the legacy path is not due at any time: its engine sees for itself.
    """
    node = t.nodes.c
    waiting = sa.and_(node.awaits == operation_id, node.state == NodeState.WAITING, node.due.is_not(None))
    connection.execute(sa.update(t.nodes).where(waiting).values(due=now))
