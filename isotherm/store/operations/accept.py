"""Unit of work: accept a request as the newest operation of its stack, or refuse it with a conflict (I3).

The conditional write on the stack's generation comes first: a request that loses the race has written nothing (lesson B11).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.states import ORDERED, UNFINISHED, VISITING, Action, OperationState, Status
from isotherm.store import credentials, rows, scheduling, stack_clouds
from isotherm.store import tables as t
from isotherm.store.database import committed, sealing
from isotherm.store.database.committed import SupersededOperation
from isotherm.store.operations import adopt, finish, history, move, order, snapshots
from isotherm.store.reads import stack_list
from isotherm.store.records import Acceptance, Event, NewStack, OperationScope
from isotherm.store.scheduling import Scheduling
from isotherm.store.transitions import nodes, operations

# Actions on nested stacks that a newer operation on an outer stack does not stop: they create nothing.
_GOES_ON = (*VISITING, Action.DELETE)
_STOPPED = "Stopped: a newer operation on the outer stack was accepted"

def create(connection: sa.Connection, stack: NewStack, request: Acceptance, now: float) -> None:
    """Create a stack with its first operation; raises Conflict if the name is taken."""
    try:
        connection.execute(
            sa.insert(t.stacks).values(
                id=stack.id, project=stack.project, name=stack.name, tomb="", owner_id=stack.owner_id, depth=stack.depth,
                username=stack.username, generation=1, operation_id=request.operation_id, action=request.action,
                status=Status.IN_PROGRESS,
                reason=request.reason, description=request.description or "", tags=request.tags,
                disable_rollback=request.disable_rollback, timeout_s=request.timeout_s, convergence=stack.convergence,
                created_at=now, updated_at=now if request.action is Action.ADOPT else None,
            )
        )
    except sa.exc.IntegrityError as error:
        raise errors.Conflict(
            f"The Stack ({stack.name}) already exists.", kind="StackExists",
            hint="Update it, delete it, or choose another name.",
        ) from error
    stack_list.write_tags(connection, stack.id, request.tags)
    _open(connection, request, 1, now, scheduling.of(stack.convergence))


def supersede(connection: sa.Connection, request: Acceptance, now: float, *, preempt: bool = False) -> int:
    """Accept an operation on an existing stack; return its generation, or raise Conflict if another one was faster.

    On the legacy path, an operation in progress is a conflict too, unless the outer stack asks (`preempt`).
    """
    stack = t.stacks.c
    chosen = _admit(connection, request, preempt=preempt)
    values = {
        stack.generation: request.generation + 1, stack.operation_id: request.operation_id,
        stack.action: request.action, stack.status: Status.IN_PROGRESS, stack.reason: request.reason,
        stack.updated_at: now, stack.disable_rollback: request.disable_rollback, stack.timeout_s: request.timeout_s,
        stack.tags: request.tags,
    }
    if request.description is not None:
        values[stack.description] = request.description
    hit = connection.execute(
        sa.update(t.stacks)
        .where(stack.id == request.stack_id, stack.generation == request.generation, stack.tomb == "")
        .values(values)
    )
    if not hit.rowcount:
        raise errors.Conflict(
            "Another operation on this stack was accepted at the same moment, or the stack is gone.",
            kind="ActionInProgress", hint="Look at the stack, and ask again if you still want it.",
        )
    stack_list.forget_tags(connection, request.stack_id)
    stack_list.write_tags(connection, request.stack_id, request.tags)
    older = _halt(connection, request.stack_id, request.generation, now, chosen)
    if older is not None:
        committed.add_superseded(connection, older)
    if chosen.stops_nested and request.action not in VISITING and (older or request.action is Action.ROLLBACK):
        halt_nested(connection, request.stack_id, now)
    _open(connection, request, request.generation + 1, now, chosen)
    return request.generation + 1


def _admit(connection: sa.Connection, request: Acceptance, *, preempt: bool) -> Scheduling:
    """Return the scheduling of the stack; raises Conflict if its current operation does not let the new one in."""
    stack = t.stacks.c
    found = connection.execute(
        sa.select(stack.convergence, stack.status, stack.action, stack.name).where(stack.id == request.stack_id)
    ).one_or_none()
    # A stack that does not exist is refused by the conditional write that follows.
    chosen = scheduling.of(found is None or found.convergence)
    if found is not None:
        chosen.admit(found, request.action, preempt=preempt)
    return chosen


def _halt(
    connection: sa.Connection, stack_id: str, generation: int, now: float, chosen: Scheduling
) -> SupersededOperation | None:
    """Let the older operation start nothing more; return it if there is one.

    Steps under way keep their leases, and record their results when they end.
    """
    operation = t.operations.c
    running = sa.and_(
        operation.stack_id == stack_id, operation.generation == generation, operation.state.in_(UNFINISHED))
    older = connection.execute(sa.select(operation.id, operation.action, operation.state).where(running)).one_or_none()
    # Only an unfinished operation has nodes that workers could take (S2.19).
    if older is None:
        return None
    operations.supersede(connection, older.id, now)
    history.supersede(connection, older.id, now)
    chosen.halt(connection, stack_id)
    snapshots.give_up(connection, stack_id)
    if older.action in ORDERED or older.state == OperationState.WAKING:
        order.clear_visits(connection, stack_id)
    # Nodes that wait for the older operation have to wait for the newer one.
    nodes.wake_waiters(connection, older.id, now)
    return SupersededOperation(stack_id, older.id, Action(older.action))


def halt_nested(connection: sa.Connection, stack_id: str, now: float) -> None:
    """Stop what older operations of a stack have begun to make on the nested stacks (I4).

    The newer operation may change what these use before it comes to them, and then it opens an operation of its own there.
    What is under way keeps its lease, and records itself when it ends.
    """
    inner = t.stacks.c
    busy = connection.execute(
        sa.select(inner.id, inner.name, inner.generation, inner.operation_id, inner.action)
        .where(inner.owner_id == stack_id, inner.tomb == "", inner.status == Status.IN_PROGRESS,
               inner.action.not_in(_GOES_ON))
    ).all()
    for one in _begun(connection, stack_id, busy):
        _halt(connection, one.id, one.generation, now, scheduling.CONVERGENCE)
        operations.stop_nested(connection, one.operation_id, _STOPPED)
        connection.execute(sa.update(t.stacks).where(inner.id == one.id).values(status=Status.FAILED, reason=_STOPPED))
        stopped = Event(one.id, one.operation_id, "", "OS::Heat::Stack", one.id, Action(one.action), Status.FAILED,
                        _STOPPED)
        rows.insert_events(connection, [stopped], now)
        finish.forget_older(connection, one.id, one.operation_id)
        halt_nested(connection, one.id, now)


def _begun(connection: sa.Connection, stack_id: str, inner: Sequence[Any]) -> list[Any]:
    """Of nested stacks: those on which a resource of the stack has begun an operation, whose end it waits for.

    The row of a resource that was interrupted may not know its stack yet; the stack is named after the row's token.
    """
    version = t.resources.c
    waiting = connection.execute(
        sa.select(version.physical_id, version.token).where(version.stack_id == stack_id, version.intent.is_not(None))
    ).all() if inner else []
    known = {row.physical_id for row in waiting}
    ends = tuple(row.token[-12:] for row in waiting if row.token and not row.physical_id)
    return [one for one in inner if one.id in known or (ends and one.name.endswith(ends))]


def _open(
    connection: sa.Connection, request: Acceptance, generation: int, now: float, chosen: Scheduling
) -> None:
    if request.credential:
        credentials.bind(connection, request.credential, request.stack_id)
    if request.cloud is not None:
        stack_clouds.bind(connection, request.stack_id, request.cloud)
    input_ = _take_over(connection, request) if request.input_of else _keep(connection, request)
    limit_s = request.timeout_s if request.limit_s is None else request.limit_s
    operations.open_(
        connection, id=request.operation_id, stack_id=request.stack_id, generation=generation, action=request.action,
        input=input_, disable_rollback=request.disable_rollback or request.stays, timeout_s=limit_s, tags=request.tags,
        created_at=now, due=chosen.plan_due(now), deadline=None if limit_s is None else now + limit_s,
        converge=request.converge, scope=_scope(connection, request),
    )
    history.begin(connection, request, input_, generation, now)
    chosen.open(connection, request.stack_id, request.operation_id, now)
    started = Event(request.stack_id, request.operation_id, "", "OS::Heat::Stack", request.stack_id, request.action,
                    Status.IN_PROGRESS, request.reason)
    rows.insert_events(connection, [started], now)


def _scope(connection: sa.Connection, request: Acceptance) -> str | None:
    """Return the scope of the operation as JSON. With the input of another operation, the same resources wait.

    A visit changes nothing of what the operation before it has left out.
    """
    scope = request.scope
    if request.input_of:
        operation = t.operations.c
        text = connection.execute(sa.select(operation.scope).where(operation.id == request.input_of)).scalar()
        taken = rows.scope_of(text)
        visits = request.action in VISITING
        scope = taken if taken is None or visits else OperationScope(waits=taken.waits)
    return None if scope is None else msgspec.json.encode(scope).decode()


def _keep(connection: sa.Connection, request: Acceptance) -> str:
    """Store the texts that are new; return the address of the input.

    Equal templates and files are stored once for all stacks. The input names them and belongs to its stack alone: another
    stack cannot be made to use it.
    """
    box = sealing.of(connection)
    owners = {key: request.stack_id if key == request.input else "" for key in request.blobs}
    addresses = {box.address(key, owner): key for key, owner in owners.items()}
    if addresses:
        have = connection.execute(sa.select(t.blobs.c.hash).where(rows.among(t.blobs.c.hash)), rows.ids(addresses))
        known = {row[0] for row in have}
        new = [{"hash": address, "content": box.seal(request.blobs[key], "content", address, owners[key])}
               for address, key in addresses.items() if address not in known]
        if new:
            connection.execute(sa.insert(t.blobs), new)
        used = [{"operation_id": request.operation_id, "hash": address} for address in addresses]
        connection.execute(sa.insert(t.uses), used)
    return box.address(request.input, request.stack_id)


def _take_over(connection: sa.Connection, request: Acceptance) -> str:
    """Use the input and blobs of another operation; return the address of the input."""
    operation, use = t.operations.c, t.uses.c
    used = sa.select(sa.literal(request.operation_id), use.hash).where(use.operation_id == request.input_of)
    connection.execute(sa.insert(t.uses).from_select(["operation_id", "hash"], used))
    found = connection.execute(sa.select(operation.input).where(operation.id == request.input_of)).scalar()
    return found or ""


def roll_back(
    connection: sa.Connection, stack_id: str, operation_id: str, now: float, reason: str, username: str = ""
) -> None:
    """Open the rollback of the stack's newest operation: to the last one that was completed, or to nothing.

    It runs in the transaction that saw the failure, so that the target cannot be lost in between (lesson D6).
    """
    stack = connection.execute(
        sa.select(t.stacks.c.generation, t.stacks.c.complete_operation_id, t.stacks.c.disable_rollback,
                  t.stacks.c.timeout_s, t.stacks.c.action, t.stacks.c.operation_id).where(t.stacks.c.id == stack_id)
    ).one()
    if stack.action == Action.ADOPT and stack.complete_operation_id != stack.operation_id:
        # Adopted objects stay; objects that the adoption has created are deleted.
        adopt.let_go(connection, stack_id, adopted=True)
    failed = connection.execute(
        sa.select(t.operations.c.timeout_s, t.operations.c.converge).where(t.operations.c.id == stack.operation_id)
    ).one_or_none()
    target = rows.operation(connection, stack.complete_operation_id) if stack.complete_operation_id else None
    supersede(
        connection,
        Acceptance(
            stack_id, stack.generation, operation_id, Action.ROLLBACK, "",
            disable_rollback=stack.disable_rollback, timeout_s=stack.timeout_s,
            tags=target.tags if target else "[]", reason=reason, input_of=target.id if target else "",
            limit_s=failed.timeout_s if failed else None, converge=bool(failed and failed.converge),
            username=username,
        ),
        now,
    )
    if target is not None:
        move.undo(connection, stack_id, target.generation)
