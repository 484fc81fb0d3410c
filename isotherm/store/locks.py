"""Units of work: the lock of a stack on the legacy path. One engine has the stack, for as long as its lease lasts.

The row is there while something is to be done: an operation that is accepted asks for it, an engine takes it, and gives it
back when nothing is left. `operation_id` is what is wanted now, whoever has the stack; `fence` is the engine that has it.
So an operation may be overtaken (by a delete) without the lock changing hands: the engine goes on with the newer one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
import sqlalchemy as sa

from isotherm import errors
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.fairness.shares import START, Place, Queue

_LOCK = t.stack_locks.c


class Lock(msgspec.Struct, frozen=True, gc=False):
    """A stack that an engine has taken."""

    stack_id: str
    fence: int


class Wish(msgspec.Struct, frozen=True):
    """Who asks for stacks, until when they will have them, how many, and where their last look ended."""

    engine: str
    until: float
    room: int
    place: Place = START


def request(connection: sa.Connection, stack_id: str, operation_id: str, now: float) -> None:
    """An operation was accepted: who has the stack goes on with it, or the first engine that finds it."""
    mine = sa.update(t.stack_locks).where(_LOCK.stack_id == stack_id)
    if not connection.execute(mine.values(operation_id=operation_id)).rowcount:
        (fence,) = rows.take_ids(connection, 1)
        connection.execute(
            sa.insert(t.stack_locks).values(stack_id=stack_id, operation_id=operation_id, fence=fence, due=now)
        )


def drop(connection: sa.Connection, stack_id: str) -> None:
    """Nothing is left to do. If an engine has the stack, it finds out and gives it back itself."""
    connection.execute(sa.delete(t.stack_locks).where(_LOCK.stack_id == stack_id, _LOCK.engine.is_(None)))


_DUE = sa.select(_LOCK.stack_id).where(_LOCK.due <= sa.bindparam("now")).order_by(_LOCK.due).limit(sa.bindparam("room"))
_QUEUE = Queue(lambda stack: sa.exists().where(_LOCK.stack_id == stack.id, _LOCK.due <= sa.bindparam("now")))
_TAKE = (
    sa.update(t.stack_locks)
    .where(_LOCK.stack_id == sa.bindparam("l_stack_id"))
    .values(engine=sa.bindparam("l_engine"), fence=sa.bindparam("l_fence"), lease_until=sa.bindparam("l_until"),
            due=sa.bindparam("l_until"))
)


def due(connection: sa.Connection, engine: str, until: float, now: float, room: int) -> list[Lock]:
    """Take stacks that wait for an engine, and those whose engine let its lease run out."""
    return take(connection, Wish(engine, until, room), now)[0]


def take(connection: sa.Connection, wish: Wish, now: float) -> tuple[list[Lock], Place]:
    """The same. When more of them wait than the engine can have, projects take turns."""
    oldest = list(connection.execute(_DUE, {"now": now, "room": wish.room + 1}).scalars())
    if not oldest:
        return [], wish.place
    taken, place = _QUEUE.choose(connection, oldest, wish.room, wish.place, now)
    fences = rows.take_ids(connection, len(taken))
    locks = [Lock(stack_id, fence) for stack_id, fence in zip(taken, fences, strict=True)]
    connection.execute(_TAKE, [
        {"l_stack_id": lock.stack_id, "l_engine": wish.engine, "l_fence": lock.fence, "l_until": wish.until}
        for lock in locks
    ])
    return locks, place


_NEXT = sa.select(sa.func.min(_LOCK.due))


def next_due(connection: sa.Connection) -> float | None:
    return connection.execute(_NEXT).scalar()


def renew(connection: sa.Connection, locks: Sequence[Lock], until: float) -> set[str]:
    """Keep what is held. Answers the stacks that are still ours."""
    return {lock.stack_id for lock in locks if _write(connection, lock, lease_until=until, due=until)}


# Asked by every unit of work: built once.
_HOLD = (
    sa.select(_LOCK.operation_id)
    .where(_LOCK.stack_id == sa.bindparam("l_stack_id"), _LOCK.fence == sa.bindparam("l_fence"))
)


def hold(connection: sa.Connection, lock: Lock) -> str:
    """The operation that is wanted now; raises Superseded if another engine has the stack."""
    found = connection.execute(_HOLD, {"l_stack_id": lock.stack_id, "l_fence": lock.fence}).scalar()
    if found is None:
        raise errors.Superseded(lock.stack_id)
    return str(found)


def release(connection: sa.Connection, lock: Lock) -> None:
    """Nothing is left to do."""
    connection.execute(sa.delete(t.stack_locks).where(_LOCK.stack_id == lock.stack_id, _LOCK.fence == lock.fence))


def hand_on(connection: sa.Connection, lock: Lock, now: float) -> None:
    """The engine leaves in good order: the next one goes on."""
    (fence,) = rows.take_ids(connection, 1)
    _write(connection, lock, engine=None, fence=fence, lease_until=None, due=now)


def of_dead(connection: sa.Connection, engines: Collection[str], now: float) -> None:
    """These engines are known to be dead: nobody need wait for their leases."""
    connection.execute(sa.update(t.stack_locks).where(rows.among(_LOCK.engine)).values(due=now), rows.ids(engines))


def _write(connection: sa.Connection, lock: Lock, **values: object) -> bool:
    mine = sa.update(t.stack_locks).where(_LOCK.stack_id == lock.stack_id, _LOCK.fence == lock.fence)
    return bool(connection.execute(mine.values(**values)).rowcount)
