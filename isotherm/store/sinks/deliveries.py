"""The position of each sink in the events, and the events after it.

Ids of events grow in the order of their commits, so a position is all that a sink needs to miss none (see `reads.events`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.reads import events
from isotherm.store.sinks import scalings
from isotherm.store.sinks.scalings import Scaling

_DELIVERY, _EVENT, _STACK = t.deliveries.c, t.events.c, t.stacks.c


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """The right to deliver the events after a position to a sink, under a lease."""

    sink: str
    position: int
    attempts: int
    fence: int


class StackView(msgspec.Struct, frozen=True, gc=False):
    """The columns of a stack that messages show."""

    id: str
    name: str
    project: str
    username: str
    is_root: bool
    description: str
    tags: list[str]
    created_at: float
    updated_at: float | None


class DeliverableEvent(msgspec.Struct, frozen=True, gc=False):
    """An event of a stack or an observation, with its stack, and the scaling that its operation is."""

    id: int
    operation_id: str
    # Empty for an event of the stack itself.
    resource: str
    type: str
    physical_id: str | None
    action: Action
    status: Status
    reason: str
    created_at: float
    stack: StackView
    scaling: Scaling | None
    # The stack of the group that is scaled.
    group_stack: StackView | None


class Batch(msgspec.Struct, frozen=True):
    """Events to deliver, oldest first. All events up to `position` are among them, or are not to be delivered."""

    events: list[DeliverableEvent]
    position: int


def enrol(connection: sa.Connection, sinks: Sequence[str], now: float) -> None:
    """Add new sinks. Their first event is the next one: they are not told of the past."""
    known = set(connection.execute(sa.select(_DELIVERY.sink).where(_DELIVERY.sink.in_(sinks))).scalars())
    last = events.last_id(connection)
    for sink in sinks:
        if sink not in known:
            connection.execute(sa.insert(t.deliveries).values(sink=sink, position=last, attempts=0, due=now, fence=0))


def is_anything(connection: sa.Connection, sink: str, now: float) -> bool:
    """Return whether a sink is due and not at the last event. Takes no lock."""
    due = sa.select(_DELIVERY.position).where(_DELIVERY.sink == sink, _DELIVERY.due <= now)
    position = connection.execute(due).scalar()
    return position is not None and position != events.last_id(connection)


def take(connection: sa.Connection, sink: str, now: float, lease_s: float) -> Delivery | None:
    """Take a sink under a lease, if it is due."""
    chosen = sa.update(t.deliveries).where(_DELIVERY.sink == sink, _DELIVERY.due <= now)
    if not connection.execute(chosen.values(due=now + lease_s, fence=_DELIVERY.fence + 1)).rowcount:
        return None
    position, attempts, fence = connection.execute(
        sa.select(_DELIVERY.position, _DELIVERY.attempts, _DELIVERY.fence).where(_DELIVERY.sink == sink)).one()
    # A purge may have deleted the last events, and SQLite gives their ids again.
    return Delivery(sink, min(position, events.last_id(connection)), attempts, fence)


def record(connection: sa.Connection, one: Delivery, position: int, attempts: int, due: float) -> bool:
    """Record the progress of a sink, and when the next process may take it. Return whether the lease still holds."""
    mine = sa.update(t.deliveries).where(_DELIVERY.sink == one.sink, _DELIVERY.fence == one.fence)
    return bool(connection.execute(mine.values(position=position, attempts=attempts, due=due)).rowcount)


_WANTED = (
    sa.select(_EVENT.id, _EVENT.stack_id, _EVENT.operation_id, _EVENT.name, _EVENT.type, _EVENT.physical_id, _EVENT.action,
              _EVENT.status, _EVENT.reason, _EVENT.created_at)
    .where(_EVENT.id > sa.bindparam("after"), _EVENT.id <= sa.bindparam("upto"),
           sa.or_(_EVENT.name == "", _EVENT.action == int(Action.OBSERVE)))
    .order_by(_EVENT.id)
    .limit(sa.bindparam("most"))
)
_STACKS = sa.select(
    _STACK.id, _STACK.name, _STACK.project, _STACK.username, _STACK.depth, _STACK.description, _STACK.tags,
    _STACK.created_at, _STACK.updated_at,
).where(rows.among(_STACK.id))


def after(connection: sa.Connection, position: int, most: int) -> Batch:
    """Return the next events of stacks and of observations. Events of a stack that was purged are left out."""
    # Read first: a later event has a higher id.
    last = events.last_id(connection)
    found = connection.execute(_WANTED, {"after": position, "upto": last, "most": most}).all()
    scaled = scalings.of_operations(connection, {row.operation_id for row in found})
    stacks = _stacks(connection, {row.stack_id for row in found} | {one.stack_id for one in scaled.values()})
    batch = [
        DeliverableEvent(row.id, row.operation_id, row.name, row.type, row.physical_id, Action(row.action),
                         Status(row.status), row.reason, row.created_at, stacks[row.stack_id],
                         scaling := scaled.get(row.operation_id), stacks.get(scaling.stack_id) if scaling else None)
        for row in found if row.stack_id in stacks
    ]
    return Batch(batch, found[-1].id if len(found) == most else last)


def _stacks(connection: sa.Connection, stack_ids: set[str]) -> dict[str, StackView]:
    return {
        row.id: StackView(row.id, row.name, row.project, row.username, row.depth == 0, row.description,
                          msgspec.json.decode(row.tags), row.created_at, row.updated_at)
        for row in connection.execute(_STACKS, rows.ids(stack_ids))
    }
