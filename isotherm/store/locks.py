"""Units of work: the lock of a stack on the legacy path. One engine holds it, for as long as its lease lasts.

The row exists while there is work: an accepted operation requests the lock, an engine takes it, and releases it when
nothing is left to do. `operation_id` is the newest operation, `fence` identifies the holder. So a newer operation (a
delete) may supersede the current one without a change of the holder: the engine goes on with the newer operation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.fairness.shares import START, Cursor, StackQueue

_LOCK = t.stack_locks.c


class Lock(msgspec.Struct, frozen=True, gc=False):
    """The lock of a stack that an engine holds."""

    stack_id: str
    fence: int


class LockRequest(msgspec.Struct, frozen=True):
    """An engine's request for stacks: the lease that it takes, its capacity and its cursor."""

    engine: str
    until: float
    capacity: int
    cursor: Cursor = START


def request(connection: sa.Connection, stack_id: str, operation_id: str, now: float) -> None:
    """Request the lock for an accepted operation: its holder goes on with that, or the first engine that takes it."""
    mine = sa.update(t.stack_locks).where(_LOCK.stack_id == stack_id)
    if not connection.execute(mine.values(operation_id=operation_id)).rowcount:
        (fence,) = rows.take_ids(connection, 1)
        connection.execute(
            sa.insert(t.stack_locks).values(stack_id=stack_id, operation_id=operation_id, fence=fence, due=now)
        )


def drop(connection: sa.Connection, stack_id: str) -> None:
    """Withdraw a request. A lock that an engine holds stays: the engine releases it when it finds nothing to do."""
    connection.execute(sa.delete(t.stack_locks).where(_LOCK.stack_id == stack_id, _LOCK.engine.is_(None)))


_DUE = sa.select(_LOCK.stack_id).where(_LOCK.due <= sa.bindparam("now")).order_by(_LOCK.due).limit(sa.bindparam("most"))
_QUEUE = StackQueue(lambda stack: sa.exists().where(_LOCK.stack_id == stack.id, _LOCK.due <= sa.bindparam("now")))
_TAKE = (
    sa.update(t.stack_locks)
    .where(_LOCK.stack_id == sa.bindparam("l_stack_id"))
    .values(engine=sa.bindparam("l_engine"), fence=sa.bindparam("l_fence"), lease_until=sa.bindparam("l_until"),
            due=sa.bindparam("l_until"))
)


def take(connection: sa.Connection, request: LockRequest, now: float) -> tuple[list[Lock], Cursor]:
    """Take locks that wait for an engine, and those whose lease has expired; return the cursor after them.

    Projects share the capacity of the engine when more locks wait than it can take.
    """
    oldest = list(connection.execute(_DUE, {"now": now, "most": request.capacity + 1}).scalars())
    if not oldest:
        return [], request.cursor
    taken, cursor = _QUEUE.choose(connection, oldest, request.capacity, request.cursor, now)
    fences = rows.take_ids(connection, len(taken))
    locks = [Lock(stack_id, fence) for stack_id, fence in zip(taken, fences, strict=True)]
    connection.execute(_TAKE, [
        {"l_stack_id": lock.stack_id, "l_engine": request.engine, "l_fence": lock.fence, "l_until": request.until}
        for lock in locks
    ])
    return locks, cursor


_NEXT = sa.select(sa.func.min(_LOCK.due))


def next_due(connection: sa.Connection) -> float | None:
    """Return when the next lock may be taken."""
    return connection.execute(_NEXT).scalar()


def renew(connection: sa.Connection, locks: Sequence[Lock], until: float) -> set[str]:
    """Renew leases; return the stacks that are still held."""
    return {lock.stack_id for lock in locks if _write(connection, lock, lease_until=until, due=until)}


# Built once: every unit of work of the legacy path runs it.
_HOLD = (
    sa.select(_LOCK.operation_id)
    .where(_LOCK.stack_id == sa.bindparam("l_stack_id"), _LOCK.fence == sa.bindparam("l_fence"))
)


def hold(connection: sa.Connection, lock: Lock) -> str:
    """Return the newest operation of the stack; raises Superseded if another engine holds the lock."""
    found = connection.execute(_HOLD, {"l_stack_id": lock.stack_id, "l_fence": lock.fence}).scalar()
    if found is None:
        raise errors.Superseded(lock.stack_id)
    return str(found)


def release(connection: sa.Connection, lock: Lock) -> None:
    """Release a lock: nothing is left to do."""
    connection.execute(sa.delete(t.stack_locks).where(_LOCK.stack_id == lock.stack_id, _LOCK.fence == lock.fence))


def hand_on(connection: sa.Connection, lock: Lock, now: float) -> None:
    """Release the lock of an engine that shuts down, so that another one can take it at once."""
    (fence,) = rows.take_ids(connection, 1)
    _write(connection, lock, engine=None, fence=fence, lease_until=None, due=now)


def release_dead(connection: sa.Connection, engines: Collection[str], now: float) -> None:
    """Make the locks of dead engines due at once."""
    connection.execute(sa.update(t.stack_locks).where(rows.among(_LOCK.engine)).values(due=now), rows.ids(engines))


def _write(connection: sa.Connection, lock: Lock, **values: object) -> bool:
    mine = sa.update(t.stack_locks).where(_LOCK.stack_id == lock.stack_id, _LOCK.fence == lock.fence)
    return bool(connection.execute(mine.values(**values)).rowcount)
