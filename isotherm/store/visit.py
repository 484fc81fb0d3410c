"""Unit of work: an operation that visits every resource is planned: check, suspend, resume, snapshot.

What is suspended is in use until its dependants are suspended too, so these go first; what is resumed needs what it
requires, so that goes first. What counts is what the objects use, as for deletions: after an update that failed or was
overtaken, that is not what the newest template says. A check and a snapshot change nothing that others could notice, so all
resources are visited at once.

What is to be deleted is checked as long as it is there, and stays what it was: to be deleted. The others leave it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ENDED, ORDERED, Action, EdgeKind, NodeKind, NodeState, OperationState
from isotherm.store import accept, finish, nodes, rows, slots
from isotherm.store import tables as t
from isotherm.store.records import Edge, NodeWrite
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
    order = _order(connection, operation.action, visited)
    pending = Counter(edge.dst for edge in order)
    writes = [
        NodeWrite(id_, slot.name, NodeKind.VISIT, NodeState.PENDING if pending[id_] else NodeState.SCHEDULED, pending[id_],
                  _before(slot))
        for id_, slot in visited.items()
    ]
    nodes.rewrite(connection, writes, operation.generation, now)
    rows.insert_edges(connection, order)
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


def _order(connection: sa.Connection, action: Action, visited: Mapping[int, Slot]) -> list[Edge]:
    """Who goes before whom."""
    if action not in ORDERED:
        return []
    node_of = {slot.resource_id: id_ for id_, slot in visited.items() if slot.resource_id is not None}
    resource = t.resources.c
    found = connection.execute(sa.select(resource.id, resource.requires).where(rows.among(resource.id)), rows.ids(node_of))
    pairs = [(node_of[need], node_of[user]) for user, requires in found for need in set(rows.required(requires))
             if need in node_of and need != user]
    return [Edge(user, need, EdgeKind.ORDER) if action is Action.SUSPEND else Edge(need, user, EdgeKind.ORDER)
            for need, user in pairs]
