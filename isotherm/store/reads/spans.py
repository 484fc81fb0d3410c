"""Reads of the spans of an operation, from its events: when each resource began and ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from isotherm.states import Action, EdgeKind, NodeKind
from isotherm.store import rows
from isotherm.store import tables as t

_EVENT, _NODE, _EDGE = t.events.c, t.nodes.c, t.edges.c
# Signals and drift happen beside the operations of a stack: their events neither begin nor end a step.
_OF_STEPS = [int(action) for action in Action if action not in (Action.SIGNAL, Action.OBSERVE)]
_WINDOW = (
    sa.select(_EVENT.id, _EVENT.name, _EVENT.type, _EVENT.action, _EVENT.status, _EVENT.created_at,
              _EVENT.reason.like("% paused until Hook % is cleared"))
    .where(_EVENT.stack_id == sa.bindparam("stack_id"), _EVENT.operation_id == sa.bindparam("operation_id"),
           _EVENT.id > sa.bindparam("after"), _EVENT.action.in_(_OF_STEPS))
    .order_by(_EVENT.id).limit(sa.bindparam("most"))
)


def window(
    connection: sa.Connection, stack_id: str, operation_id: str, after: int, most: int
) -> list[tuple[int, str, str, int, int, float, bool]]:
    """Return the next events of an operation, oldest first: id, name, type, action, status, time, whether a hook paused."""
    bound = {"stack_id": stack_id, "operation_id": operation_id, "after": after, "most": most}
    return [(row[0], row[1], row[2], row[3], row[4], row[5], bool(row[6])) for row in connection.execute(_WINDOW, bound)]


_RECENT = (
    sa.select(t.events).where(_EVENT.stack_id == sa.bindparam("stack_id"))
    .order_by(_EVENT.id.desc()).limit(20_000).subquery()
)
_OF_RESOURCE = (
    sa.select(_RECENT.c.id, _RECENT.c.action, _RECENT.c.status, _RECENT.c.reason, _RECENT.c.created_at,
              _RECENT.c.operation_id)
    .where(_RECENT.c.name == sa.bindparam("name"), _RECENT.c.action.in_(_OF_STEPS))
    .order_by(_RECENT.c.id.desc()).limit(sa.bindparam("most"))
)


def of_resource(connection: sa.Connection, stack_id: str, name: str, most: int) -> Sequence[sa.RowMapping]:
    """Return the newest events of a resource, oldest first, as far as they are among the newest of the stack."""
    found = connection.execute(_OF_RESOURCE, {"stack_id": stack_id, "name": name, "most": most}).mappings().all()
    return found[::-1]


_AFTER = (
    sa.select(_EVENT.name).distinct()
    .where(_EVENT.stack_id == sa.bindparam("stack_id"), _EVENT.id > sa.bindparam("after"), _EVENT.name != "")
    .limit(sa.bindparam("most"))
)


def names_after(connection: sa.Connection, stack_id: str, after: int, most: int) -> set[str]:
    """Return resources with events after an id, at most so many."""
    return set(connection.execute(_AFTER, {"stack_id": stack_id, "after": after, "most": most}).scalars())


_OWN = (
    sa.select(_RECENT.c.operation_id, _RECENT.c.action, _RECENT.c.status, _RECENT.c.created_at)
    .where(_RECENT.c.name == "", _RECENT.c.action.in_(_OF_STEPS)).order_by(_RECENT.c.id.desc()).limit(sa.bindparam("most"))
)


def own(connection: sa.Connection, stack_id: str, most: int) -> list[tuple[str, int, int, float]]:
    """Return the newest events of a stack itself, newest first: operation, action, status, time."""
    found = connection.execute(_OWN, {"stack_id": stack_id, "most": most})
    return [(row[0], row[1], row[2], row[3]) for row in found]


_SOURCE = t.nodes.alias()
_NAMED_EDGES = (
    sa.select(_SOURCE.c.name, _NODE.name)
    .select_from(t.edges).join(t.nodes, _NODE.id == _EDGE.dst).join(_SOURCE, _SOURCE.c.id == _EDGE.src)
    .where(_NODE.stack_id == sa.bindparam("in_stack"), rows.among(_NODE.name), _EDGE.kind != EdgeKind.SOFT,
           _NODE.kind != NodeKind.BARRIER, _SOURCE.c.kind != NodeKind.BARRIER)
)


def edges(connection: sa.Connection, stack_id: str, names: Collection[str]) -> list[tuple[str, str]]:
    """Return the edges that lead to the resources with these names: the names of source and target."""
    found = connection.execute(_NAMED_EDGES, {"in_stack": stack_id, **rows.ids(names)})
    return [(row[0], row[1]) for row in found]


_NEWEST = (
    sa.select(_EVENT.name, _EVENT.status, _EVENT.created_at)
    .where(_EVENT.stack_id == sa.bindparam("stack_id"), _EVENT.name != "", _EVENT.action.in_(_OF_STEPS))
    .order_by(_EVENT.id.desc()).limit(sa.bindparam("most"))
)


def since(connection: sa.Connection, stack_id: str, most: int) -> dict[str, float]:
    """Return the time of the last event of each resource among the newest events."""
    found: dict[str, float] = {}
    for name, _, at in connection.execute(_NEWEST, {"stack_id": stack_id, "most": most}):
        found.setdefault(name, at)
    return found
