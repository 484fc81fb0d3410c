"""Reads of events: pages of lists, the newest of a stack, and the stream of all stacks.

The ids of events grow in the order in which their transactions are committed, because write transactions follow one
another in the write lane: a reader that has seen an id has seen all events below it, and the order of ids is the order of
time. One index leads to the newest events of a stack, whatever their number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t

Row = sa.RowMapping
_EVENT, _STACK = t.events.c, t.stacks.c


class Filters(msgspec.Struct, frozen=True):
    """Conditions for events: one of the values; None: any."""

    name: Sequence[str] | None = None
    action: Sequence[str] | None = None
    status: Sequence[str] | None = None
    type: Sequence[str] | None = None
    operation: Sequence[str] | None = None
    # Stacks with one of these names: their own events have no resource name.
    stacks_named: Sequence[str] = ()


class Order(msgspec.Struct, frozen=True):
    """The order of a page: by id, or by type and id."""

    by_type: bool = False
    descending: bool = True


def page(
    connection: sa.Connection, stack_ids: Sequence[str], filters: Filters, order: Order, marker: Mapping[Any, Any] | None,
    limit: int,
) -> Sequence[Row]:
    """Return at most `limit` events of these stacks, after the marker in this order."""
    keys: list[sa.ColumnElement[Any]] = [_EVENT.type, _EVENT.id] if order.by_type else [_EVENT.id]
    query = sa.select(t.events).where(*_chosen(filters))
    if marker is not None:
        position = sa.tuple_(*(sa.literal(marker[key.name]) for key in keys))
        query = query.where(sa.tuple_(*keys) < position if order.descending else sa.tuple_(*keys) > position)
    query = query.order_by(*(key.desc() if order.descending else key for key in keys)).limit(limit)
    if len(stack_ids) == 1:
        return connection.execute(query.where(_EVENT.stack_id == stack_ids[0])).mappings().all()
    return connection.execute(query.where(rows.among(_EVENT.stack_id)), rows.ids(stack_ids)).mappings().all()


def _chosen(filters: Filters) -> list[sa.ColumnElement[bool]]:
    wanted: list[sa.ColumnElement[bool]] = []
    if filters.name is not None:
        own = sa.and_(_EVENT.name == "", _EVENT.stack_id.in_(filters.stacks_named))
        wanted.append(sa.or_(_EVENT.name.in_([name for name in filters.name if name]), own))
    if filters.type is not None:
        wanted.append(_EVENT.type.in_(filters.type))
    if filters.operation is not None:
        wanted.append(_EVENT.operation_id.in_(filters.operation))
    if filters.action is not None:
        wanted.append(_EVENT.action.in_([int(Action[one]) for one in filters.action if one in Action.__members__]))
    if filters.status is not None:
        wanted.append(_EVENT.status.in_([int(Status[one]) for one in filters.status if one in Status.__members__]))
    return wanted


def one(connection: sa.Connection, stack_ids: Sequence[str], id_: int) -> Row | None:
    """Return the event with this id, if it belongs to one of these stacks."""
    found = connection.execute(sa.select(t.events).where(_EVENT.id == id_)).mappings().one_or_none()
    return found if found is not None and found["stack_id"] in stack_ids else None


def after(connection: sa.Connection, stack_id: str, id_: int = 0, limit: int = 1000) -> Sequence[Row]:
    """Return the first events of a stack after an id, oldest first."""
    query = sa.select(t.events).where(_EVENT.stack_id == stack_id, _EVENT.id > id_).order_by(_EVENT.id).limit(limit)
    return connection.execute(query).mappings().all()


def newest(connection: sa.Connection, stack_id: str, limit: int, after_id: int = 0) -> list[Row]:
    """Return the newest events of a stack after an id, oldest first."""
    mine = sa.select(t.events).where(_EVENT.stack_id == stack_id, _EVENT.id > after_id)
    return list(connection.execute(mine.order_by(_EVENT.id.desc()).limit(limit)).mappings())[::-1]


_LAST = sa.select(sa.func.max(_EVENT.id))
_WINDOW = (
    sa.select(t.events)
    .where(_EVENT.id > sa.bindparam("after"), _EVENT.id <= sa.bindparam("upto"))
    .order_by(_EVENT.id)
    .limit(sa.bindparam("most"))
)
_OWNERS = sa.select(_STACK.id, _STACK.name, _STACK.project, _STACK.owner_id).where(rows.among(_STACK.id))


def last_id(connection: sa.Connection) -> int:
    """Return the id of the newest event of all stacks."""
    return connection.execute(_LAST).scalar() or 0


def window(connection: sa.Connection, after_id: int, upto: int, most: int) -> list[Row]:
    """Return the first events of all stacks after one id, up to another."""
    return list(connection.execute(_WINDOW, {"after": after_id, "upto": upto, "most": most}).mappings())


def stacks_of(connection: sa.Connection, stack_ids: Collection[str]) -> list[tuple[str, str, str, str | None]]:
    """Return the id, name, project and owner of each stack."""
    return [(row[0], row[1], row[2], row[3]) for row in connection.execute(_OWNERS, rows.ids(stack_ids))]
