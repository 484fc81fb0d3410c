"""Unit of work: plan an operation that visits every resource: check, suspend, resume, snapshot.

Dependants are suspended before the resources that they use, and resumed after them. The order follows what the objects
really use, as for deletions: after a failed or superseded update that is not what the newest template says. A check and a
snapshot change nothing that other resources could notice: they visit all resources at once.

An update of a stack with suspended resources begins with such a visit too: see `wake`.

A check also visits resources that are to be deleted, and they stay so. The other operations leave them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ENDED, ORDERED, Action, EdgeKind, NodeKind, NodeState, OperationState
from isotherm.store import rows, scheduling
from isotherm.store import tables as t
from isotherm.store.operations import finish, order
from isotherm.store.records import Edge, NodeWrite, Operation
from isotherm.store.transitions import nodes, operations
from isotherm.store.versions import current, shared_objects
from isotherm.store.versions.current import Slot


def write(connection: sa.Connection, operation_id: str, now: float) -> None:
    """Plan the visits and start them; raises Superseded if the operation is no longer the newest."""
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state != OperationState.PLANNING:
        raise errors.Superseded(operation_id)
    order.clear(connection, operation.stack_id)
    visited = {
        slot.id: slot for slot in current.of(connection, operation.stack_id).values()
        if slot.resource_id is not None and (operation.action is Action.CHECK or not _is_dropped(slot))
    }
    _begin(connection, operation, visited, OperationState.UPDATING, now)
    if not visited:
        finish.next_phase(connection, operation_id, now)


def wake(
    connection: sa.Connection, operation: Operation, present: Mapping[str, Slot], names: Collection[str], now: float
) -> bool:
    """Resume the suspended resources of these names, and those that they use; return whether there are any.

    An object resumes with what it used when it was suspended, whatever the operation wants of it: so all are resumed in the
    order of their requirements before any of them is changed. A failed resume is not repeated: its node has had its visit
    by this operation.
    """
    asleep = {slot.resource_id: slot for slot in present.values()
              if slot.resource_id is not None and slot.suspended and slot.generation != operation.generation}
    woken = {id_: slot for id_, slot in asleep.items() if slot.name in names}
    if not woken:
        return False
    requires = _requires(connection, asleep)
    todo = list(woken)
    while todo:
        used = {id_ for id_ in requires[todo.pop()] if id_ in asleep and id_ not in woken}
        woken |= {id_: asleep[id_] for id_ in used}
        todo += used
    _begin(connection, operation, {slot.id: slot for slot in woken.values()}, OperationState.WAKING, now)
    return True


def _begin(
    connection: sa.Connection, operation: Operation, visited: Mapping[int, Slot], state: OperationState, now: float
) -> None:
    edges = _order(connection, operation, visited)
    pending = Counter(edge.dst for edge in edges)
    writes = [
        NodeWrite(id_, slot.name, NodeKind.VISIT, NodeState.PENDING if pending[id_] else NodeState.SCHEDULED, pending[id_],
                  _is_outdated(slot), _is_dropped(slot))
        for id_, slot in visited.items()
    ]
    nodes.plan(connection, writes, operation.generation, now)
    rows.insert_edges(connection, edges)
    operations.start(connection, operation.id, state, len(writes))
    if writes:
        scheduling.of(operation.convergence).start_phase(connection, operation.stack_id)


def _is_dropped(slot: Slot) -> bool:
    """Return whether the resource is to be deleted: a visit, or one that supersedes it, must not forget that."""
    return slot.awaits_cleanup if slot.kind == NodeKind.VISIT else slot.kind == NodeKind.CLEANUP


def _is_outdated(slot: Slot) -> bool:
    """Return whether the resource was not proven up to date before the visit."""
    return slot.outdated if slot.kind == NodeKind.VISIT else slot.state != NodeState.DONE


def after_report(
    kind: NodeKind, state: NodeState, *, outdated: bool, awaits_cleanup: bool
) -> tuple[NodeKind, NodeState]:
    """Return the kind and state of a node after a report.

    A visit proves that the object exists, not that it is as the template wants it: the node returns to what it was.
    """
    if kind is NodeKind.VISIT and state in ENDED and awaits_cleanup:
        return NodeKind.CLEANUP, state
    if kind is NodeKind.VISIT and state is NodeState.DONE:
        return NodeKind.UPDATE, NodeState.SKIPPED if outdated else NodeState.DONE
    return kind, state


def _order(connection: sa.Connection, operation: Operation, visited: Mapping[int, Slot]) -> list[Edge]:
    """Return the edges between visits: dependants first for a suspend, requirements first for a resume."""
    action = operation.visit
    if action not in ORDERED:
        return []
    same = shared_objects.twins(connection, operation.stack_id)
    node_of = {slot.resource_id: id_ for id_, slot in visited.items() if slot.resource_id is not None}
    pairs = [(node_of[need], node_of[user]) for user, requires in _requires(connection, node_of).items()
             for need in shared_objects.widened(requires, same) if need in node_of and need != user]
    return [Edge(user, need, EdgeKind.ORDER) if action is Action.SUSPEND else Edge(need, user, EdgeKind.ORDER)
            for need, user in pairs]


def _requires(connection: sa.Connection, version_ids: Iterable[int]) -> dict[int, set[int]]:
    """Return by version the versions that it may use."""
    resource = t.resources.c
    found = connection.execute(
        sa.select(resource.id, resource.requires).where(rows.among(resource.id)), rows.ids(version_ids))
    return {id_: set(rows.required(requires)) for id_, requires in found}
