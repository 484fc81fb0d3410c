"""The history of root stacks: the inputs that they had, kept after the operations are gone.

An operation that brings no other input than the one before adds no row, so updates without a change leave the number of
rows as it is (I16). Operations that visit or delete resources change no input, and are not part of the history.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from isotherm.states import VISITING, Action, Status
from isotherm.store import limits, rows
from isotherm.store import tables as t
from isotherm.store.records import Acceptance

_PAST, _STACK = t.history.c, t.stacks.c
_LEFT_OUT = (*VISITING, Action.DELETE)


def begin(connection: sa.Connection, request: Acceptance, input_: str, generation: int, now: float) -> None:
    """Record an accepted operation on a root stack; forget the oldest inputs beyond the limit."""
    most = limits.most_history(connection)
    if request.action in _LEFT_OUT or most <= 0 or not _is_root(connection, request.stack_id):
        return
    newest = connection.execute(_newest(request.stack_id)).one_or_none()
    started = {"last_generation": generation, "operation_id": request.operation_id,
               "status": Status.IN_PROGRESS, "ended_at": None}
    if newest is not None and newest.input == input_:
        connection.execute(sa.update(t.history).where(_is(request.stack_id, newest.generation)).values(started))
        _forget_uses(connection, [newest.operation_id])
        return
    connection.execute(sa.insert(t.history).values(
        stack_id=request.stack_id, generation=generation, input=input_, action=request.action, username=request.username,
        created_at=now, **started))
    _drop(connection, request.stack_id, _past(connection, request.stack_id)[most:])


def insert_migrated(connection: sa.Connection, **values: Any) -> None:
    """Insert the input of a migrated stack, whose history begins with it."""
    connection.execute(sa.insert(t.history).values(status=Status.COMPLETE, username="", **values))


def end(connection: sa.Connection, operation_id: str, status: Status, now: float) -> None:
    """Record the end of an operation."""
    connection.execute(
        sa.update(t.history).where(_PAST.operation_id == operation_id).values(status=status, ended_at=now))


def supersede(connection: sa.Connection, operation_id: str, now: float) -> None:
    """Record that a newer operation has superseded this one."""
    connection.execute(sa.update(t.history).where(_PAST.operation_id == operation_id).values(ended_at=now))


def forget(connection: sa.Connection, stack_id: str) -> None:
    """Delete the history of a stack with the blobs that only it used."""
    _drop(connection, stack_id, _past(connection, stack_id))


def of_stack(connection: sa.Connection, stack_id: str) -> Sequence[sa.RowMapping]:
    """Return the inputs that are kept, newest first."""
    query = sa.select(t.history).where(_PAST.stack_id == stack_id).order_by(_PAST.generation.desc())
    return connection.execute(query).mappings().all()


def _is_root(connection: sa.Connection, stack_id: str) -> bool:
    root = sa.select(_STACK.id).where(_STACK.id == stack_id, _STACK.owner_id.is_(None))
    return connection.execute(root).first() is not None


def _newest(stack_id: str) -> sa.Select[Any]:
    query = sa.select(_PAST.generation, _PAST.input, _PAST.operation_id).where(_PAST.stack_id == stack_id)
    return query.order_by(_PAST.generation.desc()).limit(1)


def _is(stack_id: str, generation: int) -> sa.ColumnElement[bool]:
    return sa.and_(_PAST.stack_id == stack_id, _PAST.generation == generation)


def _past(connection: sa.Connection, stack_id: str) -> Sequence[Any]:
    """Return generation and operation of the kept inputs, newest first."""
    query = sa.select(_PAST.generation, _PAST.operation_id).where(_PAST.stack_id == stack_id)
    return connection.execute(query.order_by(_PAST.generation.desc())).all()


def _drop(connection: sa.Connection, stack_id: str, dropped: Collection[Any]) -> None:
    """Delete these rows, with the blobs that only they used."""
    if not dropped:
        return
    oldest_kept = max(one.generation for one in dropped)
    connection.execute(sa.delete(t.history).where(_PAST.stack_id == stack_id, _PAST.generation <= oldest_kept))
    _forget_uses(connection, [one.operation_id for one in dropped])


def _forget_uses(connection: sa.Connection, ids: Collection[str]) -> None:
    """Remove the uses of blobs by these operations. One that still exists keeps its blobs."""
    operation = t.operations.c
    stay = connection.execute(sa.select(operation.id).where(rows.among(operation.id)), rows.ids(ids)).scalars()
    rows.forget_uses(connection, list(set(ids) - set(stay)))
