"""Unit of work: an operation that visits every resource is planned: check, suspend, resume, snapshot.

What is suspended is in use until its dependants are suspended too, so these go first; what is resumed needs what it
requires, so that goes first. Both walk the edges that the template has: suspending walks them backwards. A check and a
snapshot change nothing that others could notice, so all resources are visited at once.

What is to be deleted is checked as long as it is there, and stays what it was: to be deleted. The others leave it out.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ENDED, Action, EdgeKind, NodeKind, NodeState, OperationState
from isotherm.store import accept, finish, nodes, rows, slots
from isotherm.store import tables as t
from isotherm.store.records import NodeWrite
from isotherm.store.slots import Slot

# What a node remembers in `dirty` while it is visited: that it is to be deleted. Otherwise, as ever, whether it has to be
# looked at: then it was not up to date before.
_DOOMED = -1


def write(connection: sa.Connection, operation_id: str, now: float) -> None:
    """Plan the visits and start them; raises Superseded if the operation is not the newest any more."""
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state != OperationState.PLANNING:
        raise errors.Superseded(operation_id)
    nodes.clear_order(connection, operation.stack_id)
    visited = {
        slot.id: slot for slot in slots.of(connection, operation.stack_id).values()
        if slot.resource_id is not None and (operation.action is Action.CHECK or _before(slot) != _DOOMED)
    }
    pending = _pending(connection, operation.action, visited)
    writes = [
        NodeWrite(id_, slot.name, NodeKind.VISIT, NodeState.PENDING if pending.get(id_) else NodeState.SCHEDULED,
                  pending.get(id_, 0), _before(slot))
        for id_, slot in visited.items()
    ]
    nodes.rewrite(connection, writes, operation.generation, now)
    connection.execute(
        sa.update(t.operations)
        .where(t.operations.c.id == operation_id)
        .values(state=OperationState.UPDATING, remaining=len(writes), due=None)
    )
    if not writes:
        finish.next_phase(connection, operation_id, now)
    elif not operation.convergence:
        accept.halt_nodes(connection, operation.stack_id, convergence=False)


def _before(slot: Slot) -> int:
    """What must not be forgotten of a node because of a visit, nor because of one that overtakes it."""
    if slot.kind == NodeKind.VISIT:
        return slot.dirty
    return _DOOMED if slot.kind == NodeKind.CLEANUP else int(slot.state != NodeState.DONE)


def left(kind: NodeKind, state: NodeState, dirty: int) -> tuple[NodeKind, NodeState]:
    """What a report leaves of its node. A visit proves that the object is there, not that it is what anybody wants."""
    if kind is NodeKind.VISIT and state in ENDED and dirty == _DOOMED:
        return NodeKind.CLEANUP, state
    if kind is NodeKind.VISIT and state is NodeState.DONE:
        return NodeKind.UPDATE, NodeState.SKIPPED if dirty else NodeState.DONE
    return kind, state


def _pending(connection: sa.Connection, action: Action, visited: Collection[int]) -> dict[int, int]:
    """By node: how many others are visited before it."""
    if action not in (Action.SUSPEND, Action.RESUME):
        return {}
    edge = t.edges.c
    found = connection.execute(
        sa.select(edge.src, edge.dst).where(rows.among(edge.dst), edge.kind == EdgeKind.REQUIRES), rows.ids(visited)
    )
    pending: dict[int, int] = {}
    for src, dst in found:
        if src in visited:
            later = src if action is Action.SUSPEND else dst
            pending[later] = pending.get(later, 0) + 1
    return pending
