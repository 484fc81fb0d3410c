"""Unit of work: end a phase of an operation. The next phase starts, or the operation is closed.

This runs in the transaction that ended the last node, or that found the deadline passed: at every commit an operation is
either in progress, with something due, or closed (I10).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from isotherm.graph import plan as planning
from isotherm.states import (
    UNCHECKED,
    UNFINISHED,
    VISITING,
    Action,
    EdgeKind,
    NodeKind,
    NodeState,
    OperationState,
    Status,
)
from isotherm.store import rows, scheduling
from isotherm.store import tables as t
from isotherm.store.operations import ends, history, order, snapshots
from isotherm.store.reads import left_out
from isotherm.store.records import Edge, Event, NodeWrite, Operation, OperationScope
from isotherm.store.signals import hooks
from isotherm.store.transitions import nodes, operations
from isotherm.store.versions import readers, shared_objects


def next_phase(connection: sa.Connection, operation_id: str, now: float) -> None:
    """Start the next phase, or close the operation: all nodes of the current phase have ended."""
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state not in UNFINISHED:
        return
    if operation.state == OperationState.WAKING and operation.failure is None:
        _plan_again(connection, operation, now)
        return
    updated = operation.state == OperationState.UPDATING and operation.failure is None
    if updated and operation.action not in VISITING:
        remaining = _clean_up(connection, operation, now)
        if remaining:
            operations.clean_up(connection, operation_id, remaining)
            scheduling.of(operation.convergence).start_phase(connection, operation.stack_id)
            return
    close(connection, operation, now)


def _plan_again(connection: sa.Connection, operation: Operation, now: float) -> None:
    """Plan the operation again, after suspended resources were resumed or could not be."""
    order.clear_visits(connection, operation.stack_id)
    operations.plan_again(connection, operation.id, scheduling.of(operation.convergence).plan_due(now))


def _unwanted_versions(connection: sa.Connection, stack_id: str) -> dict[int, tuple[planning.Version, int | None]]:
    """Return the superseded and dropped versions by id, each with its clean-up node if there is one."""
    node, resource = t.nodes.c, t.resources.c
    columns = (resource.id, resource.name, resource.requires, node.id)
    superseded = (
        sa.select(*columns)
        .outerjoin(t.nodes, rows.stands_for())
        .where(resource.stack_id == stack_id, resource.superseded == sa.true())
    )
    dropped = (
        sa.select(*columns)
        .join(t.nodes, node.resource_id == resource.id)
        .where(node.stack_id == stack_id, node.kind == NodeKind.CLEANUP)
    )
    found = connection.execute(sa.union(superseded, dropped)).all()
    same = shared_objects.twins(connection, stack_id)
    return {row[0]: (planning.Version(row[0], row[1], shared_objects.widened(rows.required(row[2]), same)), row[3])
            for row in found}


def _clean_up(connection: sa.Connection, operation: Operation, now: float) -> int:
    """Plan the deletion of superseded and dropped versions, dependants first; return the number of nodes."""
    nodes.delete_empty(connection, operation.stack_id)
    unwanted = _unwanted_versions(connection, operation.stack_id)
    if operation.limited:
        unwanted = _without_users(connection, operation, unwanted)
    if not unwanted:
        return 0
    plan = planning.clean_up(version for version, _ in unwanted.values())
    _write_clean_up(connection, operation, unwanted, plan, now)
    return len(unwanted)


def _without_users(
    connection: sa.Connection, operation: Operation, unwanted: Mapping[int, tuple[planning.Version, int | None]]
) -> dict[int, tuple[planning.Version, int | None]]:
    """Return the unwanted versions of the resources that a limited operation includes, as far as no other uses them.

    The rest stay: a resource that was left out may use them until an update includes it (I7, I8).
    """
    node, scope = t.nodes.c, operation.scope or OperationScope()
    # Also resources out of its scope that it has finished for an older operation.
    visited = set(connection.execute(sa.select(node.name).where(
        node.stack_id == operation.stack_id, node.generation == operation.generation)).scalars())
    chosen = {id_: entry for id_, entry in unwanted.items() if entry[0].name in visited or entry[0].name in scope.names}
    later = _needed(chosen, _other_users(connection, operation.stack_id, chosen))
    return {id_: entry for id_, entry in chosen.items() if id_ not in later}


def _other_users(connection: sa.Connection, stack_id: str, chosen: Collection[int]) -> list[Collection[int]]:
    """Return what each version of a stack but the chosen ones may use."""
    resource, same = t.resources.c, shared_objects.twins(connection, stack_id)
    found = connection.execute(sa.select(resource.id, resource.requires).where(resource.stack_id == stack_id))
    return [shared_objects.widened(rows.required(requires), same) for id_, requires in found if id_ not in chosen]


def _write_clean_up(
    connection: sa.Connection,
    operation: Operation,
    unwanted: Mapping[int, tuple[planning.Version, int | None]],
    waits_for: Mapping[int, Collection[int]],
    now: float,
) -> dict[int, int]:
    """Write the clean-up nodes and their order; return the node of each version."""
    missing = [id_ for id_, (_, node_id) in unwanted.items() if node_id is None]
    fresh = dict(zip(missing, rows.take_ids(connection, len(missing)) if missing else (), strict=True))
    node_of = {id_: fresh.get(id_) or node_id for id_, (_, node_id) in unwanted.items()}
    writes = []
    for id_, (version, _) in unwanted.items():
        node_id = node_of[id_] or 0
        pending = len(waits_for[id_])
        state = NodeState.PENDING if pending else NodeState.SCHEDULED
        writes.append(NodeWrite(node_id, version.name, NodeKind.CLEANUP, state, pending, resource_id=id_))
    nodes.insert(connection, [w for w in writes if w.resource_id in fresh], operation, now)
    nodes.plan(connection, [w for w in writes if w.resource_id not in fresh], operation.generation, now)
    edges = (Edge(node_of[w] or 0, node_of[id_] or 0, EdgeKind.ORDER) for id_, ws in waits_for.items() for w in ws)
    rows.insert_edges(connection, edges)
    return {id_: node_id or 0 for id_, node_id in node_of.items()}


def clean_up_first(connection: sa.Connection, operation: Operation, *, unwanted: set[int], now: float) -> int:
    """Delete dropped versions before the updates, as far as no other version may use them; return the number of nodes.

    The others wait for the clean-up at the end (I7): even when their user no longer needs them, it may have been replaced,
    and the replaced version uses them until it is deleted.
    """
    nodes.delete_empty(connection, operation.stack_id)
    versions = _unwanted_versions(connection, operation.stack_id)
    dropped = {id_: entry for id_, entry in versions.items() if entry[1] in unwanted}
    visited = _visited(connection, operation)
    users: list[Collection[int]] = [version.requires for id_, (version, _) in versions.items() if id_ not in dropped]
    if operation.limited:
        users += _other_users(connection, operation.stack_id, dropped)
    later = _needed(dropped, [*users, *(requires for _, requires, _ in visited.values())])
    early = {id_: entry for id_, entry in dropped.items() if id_ not in later}
    if not early:
        return 0
    plan = planning.clean_up(version for version, _ in early.values())
    node_of = _write_clean_up(connection, operation, early, plan, now)
    roots = [node_id for node_id, _, pending in visited.values() if not pending]
    return len(early) + _barrier(connection, operation, list(node_of.values()), roots, now)


def _needed(
    dropped: Mapping[int, tuple[planning.Version, int | None]], users: Collection[Collection[int]]
) -> set[int]:
    """Return the dropped versions that the users may use, directly or through other dropped versions."""
    needed: set[int] = set()
    todo = [need for requires in users for need in requires]
    while todo:
        id_ = todo.pop()
        if id_ in dropped and id_ not in needed:
            needed.add(id_)
            todo.extend(dropped[id_][0].requires)
    return needed


def _visited(connection: sa.Connection, operation: Operation) -> dict[str, tuple[int, list[int], int]]:
    """Return the nodes that this operation updates, by name: id, requirements of the version, and pending nodes."""
    node, resource = t.nodes.c, t.resources.c
    found = connection.execute(
        sa.select(node.name, node.id, resource.requires, node.pending)
        .outerjoin(t.resources, resource.id == node.resource_id)
        .where(node.stack_id == operation.stack_id, node.generation == operation.generation,
               node.kind == NodeKind.UPDATE, node.state.in_((NodeState.PENDING, NodeState.SCHEDULED)))
    )
    same = shared_objects.twins(connection, operation.stack_id)
    return {
        row[0]: (row[1], shared_objects.widened(rows.required(row[2]), same) if row[2] else [], row[3]) for row in found
    }


def _barrier(
    connection: sa.Connection, operation: Operation, first: Collection[int], roots: Collection[int], now: float
) -> int:
    """Let the roots of the update wait for the first deletions, whatever their result; return the number of new nodes."""
    if not first or not roots:
        return 0
    (barrier,) = rows.take_ids(connection, 1)
    meeting = NodeWrite(barrier, "", NodeKind.BARRIER, NodeState.PENDING, len(first))
    nodes.insert(connection, [meeting], operation, now)
    arriving = [Edge(node_id, barrier, EdgeKind.SOFT) for node_id in first]
    leaving = [Edge(barrier, node_id, EdgeKind.ORDER) for node_id in roots]
    rows.insert_edges(connection, [*arriving, *leaving])
    nodes.wait_for_barrier(connection, roots)
    return 1


def close(connection: sa.Connection, operation: Operation, now: float) -> None:
    """Close an operation: write its result and one event (I11), and delete what only it needed."""
    failed = operation.failure is not None
    status = Status.FAILED if failed else Status.COMPLETE
    operations.close(connection, operation.id, now, failed=failed)
    history.end(connection, operation.id, status, now)
    caveat = "" if failed else _check_caveat(connection, operation) + left_out.caveat(connection, operation)
    reason = operation.failure or f"Stack {operation.action.name} completed successfully{caveat}"
    values: dict[str, object] = {"status": status, "reason": reason}
    if not failed and operation.action is Action.DELETE:
        values |= {"tomb": operation.stack_id, "deleted_at": now}
    elif not failed and operation.action not in VISITING:
        values["complete_operation_id"] = operation.id
    stack = t.stacks.c
    connection.execute(
        sa.update(t.stacks).where(stack.id == operation.stack_id, stack.operation_id == operation.id).values(values)
    )
    ended = Event(operation.stack_id, operation.id, "", "OS::Heat::Stack", operation.stack_id, operation.action, status,
                  reason)
    rows.insert_events(connection, [ended], now)
    ends.note(connection, operation, operation.failure)
    order.clear(connection, operation.stack_id)
    if operation.ordered:
        order.clear_visits(connection, operation.stack_id)
    if operation.action is Action.SNAPSHOT:
        snapshots.end(connection, operation)
    if "tomb" in values:
        snapshots.mark_all_for_deletion(connection, operation.stack_id, now)
    nodes.wake_waiters(connection, operation.id, now)
    if operation.action not in VISITING:
        readers.hint(connection, operation, now)
    hooks.forget(connection, operation.stack_id)
    scheduling.of(operation.convergence).close(connection, operation.stack_id)
    forget_older(connection, operation.stack_id, operation.id, gone="tomb" in values)


def _check_caveat(connection: sa.Connection, operation: Operation) -> str:
    """Return the caveat for a check of which some resources do not support it."""
    resource = t.resources.c
    unchecked = sa.select(resource.id).where(resource.stack_id == operation.stack_id, resource.action == int(Action.CHECK),
                                             resource.reason.startswith(UNCHECKED))
    if operation.action is not Action.CHECK or connection.execute(unchecked.limit(1)).first() is None:
        return ""
    return ". 'CHECK' not fully supported (see resources)"


def fail(connection: sa.Connection, operation: Operation, failure: str, now: float) -> None:
    """Fail an operation in favour of its rollback, which reports for the stack from now on."""
    scheduling.of(operation.convergence).halt(connection, operation.stack_id)
    if operation.ordered:
        order.clear_visits(connection, operation.stack_id)
    nodes.wake_waiters(connection, operation.id, now)
    operations.give_way(connection, operation.id, failure, now)
    history.end(connection, operation.id, Status.FAILED, now)
    failed = Event(operation.stack_id, operation.id, "", "OS::Heat::Stack", operation.stack_id, operation.action,
                   Status.FAILED, failure)
    rows.insert_events(connection, [failed], now)
    ends.note(connection, operation, failure)


def forget_older(connection: sa.Connection, stack_id: str, ended_id: str, *, gone: bool = False) -> None:
    """Delete older operations and inputs of a stack whose newest operation has ended (I16).

    A deleted stack keeps its row and its events.
    """
    stack, op = t.stacks.c, t.operations.c
    kept = connection.execute(
        sa.select(stack.operation_id, stack.complete_operation_id).where(stack.id == stack_id)
    ).one()
    old = list(
        connection.execute(
            sa.select(op.id).where(op.stack_id == stack_id, op.id.not_in([id_ for id_ in kept if id_]))
        ).scalars()
    )
    if gone:
        history.forget(connection, stack_id)
        old.extend(id_ for id_ in kept if id_)
    rows.forget_uses(connection, old)
    operations.delete(connection, old, but=ended_id)
