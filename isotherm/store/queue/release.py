"""Unit of work: workers that are known to be dead give back what they held, without waiting for their leases to end.

A lease runs out by itself; this only saves the wait where somebody can *prove* that a worker is gone (the operating
system can, for processes of one machine: see `engine.process.liveness`). The fence of each node is raised, as with any
end of a lease: should the proof be wrong, what the worker still says changes no row.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from isotherm.states import NodeState, OperationState
from isotherm.store import locks, rows
from isotherm.store import tables as t

_NODE = t.nodes.c
_OPERATION = t.operations.c
_TAKEABLE = (NodeState.RUNNING, NodeState.SCHEDULED)

# No index leads to a worker's nodes: this looks through all of them, once in the life of a worker that was killed.
_FREE = (
    sa.update(t.nodes)
    .where(rows.among(_NODE.worker))
    .values(
        state=sa.case((_NODE.state == int(NodeState.RUNNING), int(NodeState.SCHEDULED)), else_=_NODE.state),
        # What is ready may be taken now; what a newer operation holds back stays held back.
        due=sa.case((_NODE.state.in_(_TAKEABLE), sa.bindparam("now")), else_=_NODE.due),
        worker=None, lease_until=None, fence=_NODE.fence + 1,
    )
)


def workers(connection: sa.Connection, dead: Collection[str], now: float) -> int:
    """Free all that the dead workers held; answers how many nodes that were."""
    freed = connection.execute(_FREE, {**rows.ids(dead), "now": now}).rowcount
    locks.of_dead(connection, dead, now)
    # Who was planning is not recorded. Planning twice does no harm: the second finds the operation planned.
    connection.execute(
        sa.update(t.operations)
        .where(_OPERATION.state == OperationState.PLANNING, _OPERATION.due > now)
        .values(due=now)
    )
    return freed
