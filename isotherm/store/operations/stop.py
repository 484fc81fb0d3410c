"""Unit of work: an operation is stopped before its end, by the clock or by the user."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ROLLED_BACK, Action, NodeState, OperationState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.operations import accept, finish
from isotherm.store.reads import lookups
from isotherm.store.records import Event, Operation
from isotherm.store.signals import hooks

_NODE = t.nodes.c
_NOT_BEGUN = (NodeState.PENDING, NodeState.SCHEDULED)
_UNDER_WAY = (NodeState.RUNNING, NodeState.WAITING)


def aborted(action: Action) -> str:
    """Return the reason of a resource that was under way at the deadline."""
    return f"{action.name} aborted (Timed out)"


_ABORTED = sa.case({int(action): aborted(action) for action in Action}, value=t.resources.c.action)


def time_out(connection: sa.Connection, operation_id: str, new_id: str, now: float) -> None:
    """The deadline has passed. What is under way counts as failed; its outcome is unknown, and treated as such."""
    operation = rows.operation(connection, operation_id)
    if operation is None or operation.state not in accept.UNFINISHED:
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
        _set_failure(connection, operation, failure)
        _close(connection, operation_id, now)


def break_off(connection: sa.Connection, operation: Operation, failure: str, now: float) -> None:
    """It cannot go on (legacy path: its engine is gone). Nothing is undone; an update or a delete goes on from here.

    Rows of what was under way lose their intents, not their tokens: what they may have made is found by those.
    """
    _give_up(connection, operation, sa.literal(failure), now)
    _set_failure(connection, operation, failure)
    _close(connection, operation.id, now)


def cancel(connection: sa.Connection, stack_id: str, reason: str, now: float) -> str:
    """The user wants no more of it: nothing new is started, what is under way may finish. Answers the operation's id.

    What is under way on stacks inside is cancelled too, however deep, in the same transaction.
    """
    operation = rows.current_operations(connection, [stack_id]).get(stack_id)
    if operation is None or operation.state not in accept.UNFINISHED:
        raise errors.UserError("There is nothing to cancel: no operation is running on this stack.", kind="NotSupported")
    _cancel(connection, operation, reason, now)
    return operation.id


def cancel_within(connection: sa.Connection, stack_id: str, reason: str, now: float) -> None:
    """Cancel whatever is under way on the stacks inside, however deep. The stack itself is left alone."""
    stack = t.stacks.c
    inside = connection.execute(sa.select(stack.id).where(stack.owner_id == stack_id, stack.tomb == "")).scalars().all()
    for operation in rows.current_operations(connection, inside).values():
        if operation.state in accept.UNFINISHED:
            _cancel(connection, operation, reason, now)
        cancel_within(connection, operation.stack_id, reason, now)


def _cancel(connection: sa.Connection, operation: Operation, reason: str, now: float) -> None:
    for inner in _awaited(connection, operation):
        _cancel(connection, inner, reason, now)
    _set_failure(connection, operation, reason)
    hooks.give_up(connection, operation, now)
    connection.execute(_of(operation, _NOT_BEGUN).values(state=NodeState.SKIPPED, due=None))
    # Whoever waits looks again: it may be a pause that nobody needs any more.
    connection.execute(_of(operation, (NodeState.WAITING,)).where(_NODE.due.is_not(None)).values(due=now))
    under_way = sa.select(sa.func.count()).where(
        _NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation, _NODE.state.in_(_UNDER_WAY)
    )
    remaining = connection.execute(under_way).scalar_one()
    connection.execute(
        sa.update(t.operations)
        .where(t.operations.c.id == operation.id)
        .values(remaining=remaining, due=None, cancelled=True)
    )
    if not remaining:
        _close(connection, operation.id, now)


def cancel_inside(connection: sa.Connection, around: str, awaited: str, now: float) -> None:
    """An operation that may have been cancelled meanwhile begins to wait for another, on a stack inside."""
    outer, inner = (rows.operation(connection, id_) for id_ in (around, awaited))
    if outer is None or inner is None or inner.state not in accept.UNFINISHED:
        return
    if lookups.is_cancelled(connection, around):
        _cancel(connection, inner, outer.failure or "cancelled", now)


def _awaited(connection: sa.Connection, operation: Operation) -> list[Operation]:
    """The operations on other stacks that this one waits for, as far as they have not ended."""
    awaited = connection.execute(
        sa.select(_NODE.awaits).where(
            _NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation,
            _NODE.state.in_(_UNDER_WAY), _NODE.awaits.is_not(None),
        )
    ).scalars()
    found = (rows.operation(connection, id_) for id_ in awaited.all())
    return [one for one in found if one is not None and one.state in accept.UNFINISHED]


def _of(operation: Operation, states: tuple[NodeState, ...]) -> sa.Update:
    return sa.update(t.nodes).where(
        _NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation, _NODE.state.in_(states)
    )


def _give_up(connection: sa.Connection, operation: Operation, reason: sa.ColumnElement[str], now: float) -> None:
    """Fail what is under way, with an event of each; skip what had not begun."""
    node, resource = _NODE, t.resources.c
    under_way = connection.execute(
        sa.select(node.id, resource.id, resource.name, resource.type, resource.physical_id, resource.action, reason)
        .join(t.resources, resource.id == node.resource_id)
        .where(node.stack_id == operation.stack_id, node.generation == operation.generation,
               node.state.in_(_UNDER_WAY), resource.intent.is_not(None))
        .order_by(node.id)
    ).all()
    connection.execute(
        sa.update(t.resources)
        .where(rows.among(resource.id))
        .values(status=Status.FAILED, reason=reason, intent=None, digest=None),
        rows.ids(row[1] for row in under_way),
    )
    rows.insert_events(connection, [
        Event(operation.stack_id, operation.id, name, type_, physical_id, Action(action), Status.FAILED, said)
        for _, _, name, type_, physical_id, action, said in under_way
    ], now)
    # The lease stays with whoever has it: the next operation waits until it is given back or has run out.
    failed = sa.update(t.nodes).where(rows.among(node.id)).values(state=NodeState.FAILED, due=None)
    connection.execute(failed, rows.ids(row[0] for row in under_way))
    connection.execute(_of(operation, (*_NOT_BEGUN, *_UNDER_WAY)).values(state=NodeState.SKIPPED, due=None))


def _what_is_left(connection: sa.Connection, operation: Operation) -> str:
    left = connection.execute(
        sa.select(_NODE.name, _NODE.reason)
        .where(_NODE.stack_id == operation.stack_id, _NODE.generation == operation.generation,
               _NODE.state.in_(_UNDER_WAY))
        .order_by(_NODE.id).limit(4)
    ).all()
    if not left:
        return f"{operation.remaining} resources had not begun"
    names = [f"{name} ({reason})" if reason else name for name, reason in left[:3]]
    return "still under way: " + ", ".join(names) + (" and others" if len(left) > 3 else "")


def _set_failure(connection: sa.Connection, operation: Operation, failure: str) -> None:
    op = t.operations.c
    connection.execute(
        sa.update(t.operations).where(op.id == operation.id).values(failure=sa.func.coalesce(op.failure, failure))
    )


def _close(connection: sa.Connection, operation_id: str, now: float) -> None:
    operation = rows.operation(connection, operation_id)
    if operation is not None:
        finish.close(connection, operation, now)
