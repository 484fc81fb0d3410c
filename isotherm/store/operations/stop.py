"""Units of work: stop an operation before its end, at its deadline or for the user."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ROLLED_BACK, UNFINISHED, Action, OperationState, Status
from isotherm.store import rows, software
from isotherm.store import tables as t
from isotherm.store.operations import accept, finish
from isotherm.store.reads import lookups
from isotherm.store.records import Event, Operation
from isotherm.store.signals import hooks
from isotherm.store.transitions import nodes, operations, versions

_NODE = t.nodes.c


def aborted(action: Action) -> str:
    """Return the reason of a resource that was under way at the deadline."""
    return f"{action.name} aborted (Timed out)"


_ABORTED = sa.case({int(action): aborted(action) for action in Action}, value=t.resources.c.action)


def time_out(connection: sa.Connection, operation_id: str, new_id: str, now: float) -> None:
    """Stop an operation at its deadline. Steps in progress have failed, with an unknown outcome."""
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state not in UNFINISHED:
        return
    failure = f"Timed out: {_what_is_left(connection, operation)}"
    rolls_back = (
        not operation.disable_rollback and operation.action in ROLLED_BACK
        and operation.state != OperationState.CLEANING
    )
    _give_up(connection, operation, _ABORTED, now)
    if rolls_back:
        finish.fail(connection, operation, failure, now)
        accept.roll_back(connection, operation.stack_id, new_id, now, failure)
    else:
        operations.record_failure(connection, operation.id, failure)
        _close(connection, operation_id, now)


def break_off(connection: sa.Connection, operation: Operation, failure: str, now: float) -> None:
    """Fail an operation that cannot go on (legacy path: its engine is gone). Nothing is rolled back.

    Versions in progress lose their intents, not their tokens, by which the next operation finds their objects.
    """
    _give_up(connection, operation, sa.literal(failure), now)
    operations.record_failure(connection, operation.id, failure)
    _close(connection, operation.id, now)


def cancel(connection: sa.Connection, stack_id: str, reason: str, now: float) -> str:
    """Cancel the current operation of a stack: start nothing more, let running steps finish. Return the operation's id.

    Operations on nested stacks that it waits for are cancelled in the same transaction, at every depth.
    """
    operation = rows.current_operations(connection, [stack_id]).get(stack_id)
    if operation is None or operation.state not in UNFINISHED:
        raise errors.UserError("There is nothing to cancel: no operation is running on this stack.", kind="NotSupported")
    _cancel(connection, operation, reason, now)
    return operation.id


def cancel_within(connection: sa.Connection, stack_id: str, reason: str, now: float) -> None:
    """Cancel the operations on nested stacks, at every depth, but not that of the stack itself."""
    stack = t.stacks.c
    inside = connection.execute(sa.select(stack.id).where(stack.owner_id == stack_id, stack.tomb == "")).scalars().all()
    for operation in rows.current_operations(connection, inside).values():
        if operation.state in UNFINISHED:
            _cancel(connection, operation, reason, now)
        cancel_within(connection, operation.stack_id, reason, now)


def _cancel(connection: sa.Connection, operation: Operation, reason: str, now: float) -> None:
    for inner in _awaited(connection, operation):
        _cancel(connection, inner, reason, now)
    operations.record_failure(connection, operation.id, reason)
    hooks.give_up(connection, operation, now)
    nodes.skip_not_begun(connection, operation)
    nodes.wake_all(connection, operation, now)
    under_way = sa.select(sa.func.count()).where(
        _NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation, _NODE.state.in_(nodes.UNDER_WAY)
    )
    remaining = connection.execute(under_way).scalar_one()
    operations.cancel(connection, operation.id, remaining)
    if not remaining:
        _close(connection, operation.id, now)


def cancel_nested(connection: sa.Connection, around: str, awaited: str, now: float) -> None:
    """Cancel an operation on a nested stack, if the operation that is about to wait for it was cancelled meanwhile."""
    outer, inner = (rows.operation(connection, id_) for id_ in (around, awaited))
    if outer is None or inner is None or inner.state not in UNFINISHED:
        return
    if lookups.is_cancelled(connection, around):
        _cancel(connection, inner, outer.failure or "cancelled", now)


def _awaited(connection: sa.Connection, operation: Operation) -> list[Operation]:
    """Return the unfinished operations on other stacks that this one waits for."""
    awaited = connection.execute(
        sa.select(_NODE.awaits).where(
            _NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation,
            _NODE.state.in_(nodes.UNDER_WAY), _NODE.awaits.is_not(None),
        )
    ).scalars()
    found = (rows.operation(connection, id_) for id_ in awaited.all())
    return [one for one in found if one is not None and one.state in UNFINISHED]


def _give_up(connection: sa.Connection, operation: Operation, reason: sa.ColumnElement[str], now: float) -> None:
    """Fail what is under way, with an event of each; skip what had not begun."""
    node, resource = _NODE, t.resources.c
    under_way = connection.execute(
        sa.select(node.id, resource.id, resource.name, resource.type, resource.physical_id, resource.action, reason)
        .join(t.resources, resource.id == node.resource_id)
        .where(node.stack_id == operation.stack_id, node.generation == operation.generation,
               node.state.in_(nodes.UNDER_WAY), resource.intent.is_not(None))
        .order_by(node.id)
    ).all()
    versions.abort(connection, [row[1] for row in under_way], reason)
    for said in {row[6] for row in under_way}:
        software.give_up(connection, [row[4] for row in under_way if row[4] and row[6] == said], said, now)
    rows.insert_events(connection, [
        Event(operation.stack_id, operation.id, name, type_, physical_id, Action(action), Status.FAILED, said)
        for _, _, name, type_, physical_id, action, said in under_way
    ], now)
    nodes.fail(connection, [row[0] for row in under_way])
    nodes.skip_unended(connection, operation)


def _what_is_left(connection: sa.Connection, operation: Operation) -> str:
    left = connection.execute(
        sa.select(_NODE.name, _NODE.reason)
        .where(_NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation,
               _NODE.state.in_(nodes.UNDER_WAY))
        .order_by(_NODE.id).limit(4)
    ).all()
    if not left:
        return f"{operation.remaining} resources had not begun"
    names = [f"{name} ({reason})" if reason else name for name, reason in left[:3]]
    return "still under way: " + ", ".join(names) + (" and others" if len(left) > 3 else "")


def _close(connection: sa.Connection, operation_id: str, now: float) -> None:
    operation = rows.operation(connection, operation_id)
    if operation is not None:
        finish.close(connection, operation, now)
