"""Lists of events, as somebody wants to see them: filtered, ordered and cut into pages by the database.

A page begins after an event, wherever that one stands in the order. Events are numbered as they happen, so the order of
their numbers is the order of time; one index leads to the newest ten of a stack, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t

Row = sa.RowMapping
_EVENT = t.events.c


class Filters(msgspec.Struct, frozen=True):
    """What events have to be like. None: it does not matter; several values: one of them."""

    name: Sequence[str] | None = None
    action: Sequence[str] | None = None
    status: Sequence[str] | None = None
    type: Sequence[str] | None = None
    # Stacks that bear one of the names: what happens to them is told under their own.
    stacks_named: Sequence[str] = ()


class Order(msgspec.Struct, frozen=True):
    by_type: bool = False
    descending: bool = True


def page(
    connection: sa.Connection, stack_ids: Sequence[str], filters: Filters, order: Order, after: Row | None, limit: int
) -> Sequence[Row]:
    """At most `limit` events of these stacks, beginning after the one that is given."""
    keys: list[sa.ColumnElement[Any]] = [_EVENT.type, _EVENT.id] if order.by_type else [_EVENT.id]
    query = sa.select(t.events).where(*_chosen(filters))
    if after is not None:
        place = sa.tuple_(*(sa.literal(after[key.name]) for key in keys))
        query = query.where(sa.tuple_(*keys) < place if order.descending else sa.tuple_(*keys) > place)
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
    if filters.action is not None:
        wanted.append(_EVENT.action.in_([int(Action[one]) for one in filters.action if one in Action.__members__]))
    if filters.status is not None:
        wanted.append(_EVENT.status.in_([int(Status[one]) for one in filters.status if one in Status.__members__]))
    return wanted


def one(connection: sa.Connection, stack_ids: Sequence[str], id_: int) -> Row | None:
    """The event with this number, if it is one of these stacks'."""
    found = connection.execute(sa.select(t.events).where(_EVENT.id == id_)).mappings().one_or_none()
    return found if found is not None and found["stack_id"] in stack_ids else None
