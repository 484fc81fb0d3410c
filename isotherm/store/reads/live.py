"""Reads for the live view of a stack, a few times a second; their cost is bounded, however big the stack is.

A small stack is read whole. Of a big one, nodes in progress are found through the index of the work queue, and waiting
nodes through the edges from these. No other rows are read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from isotherm.states import ENDED, NodeKind, NodeState, Status
from isotherm.store import rows, scheduling
from isotherm.store import tables as t
from isotherm.store.reads import lookups
from isotherm.store.scheduling import Scheduling

# Most waiting nodes that are read for each node in progress.
_FOLLOWERS = 3
_NODE, _VERSION, _EDGE = t.nodes.c, t.resources.c, t.edges.c
_ENDED = sorted(ENDED)


@dataclass(frozen=True, slots=True)
class Picture:
    """A stack at one moment. `nodes` has all nodes if `whole`, otherwise those in progress and some that wait for them."""

    stack: lookups.Row
    operation: lookups.Row | None
    nodes: list[dict[str, Any]]
    whole: bool
    # By node: the names of some of its requirements. The node's `pending` is the number of those that have not ended.
    waits_for: dict[int, list[str]] = field(default_factory=dict)


_COLUMNS = (
    _NODE.id, _NODE.name, _NODE.kind, _NODE.state, _NODE.generation, _NODE.pending, _NODE.reason, _VERSION.type,
    _VERSION.action, _VERSION.status, _VERSION.operation_id, _VERSION.superseded,
    _VERSION.reason.label("version_reason"),
)
_NODES = (
    sa.select(*_COLUMNS)
    .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.kind != NodeKind.BARRIER)
)
_ALL = _NODES.order_by(_NODE.id).limit(sa.bindparam("limit"))
_BUSY = {
    scheduling_: [_NODES.where(busy.condition).order_by(busy.order).limit(sa.bindparam("limit"))
                  for busy in scheduling_.busy]
    for scheduling_ in (scheduling.CONVERGENCE, scheduling.LEGACY)
}
_FOLLOW = (
    _NODES.join(t.edges, _EDGE.dst == _NODE.id)
    .where(_EDGE.src == sa.bindparam("src"), _NODE.state == NodeState.PENDING)
    .order_by(_EDGE.dst)
    .limit(sa.bindparam("limit"))
)
_SOURCE = t.nodes.alias()
_WAITS = (
    sa.select(_EDGE.dst, _SOURCE.c.name)
    .join(_SOURCE, _SOURCE.c.id == _EDGE.src)
    .where(rows.among(_EDGE.dst), _SOURCE.c.kind != NodeKind.BARRIER)
    .order_by(_EDGE.dst, _EDGE.src)
    .limit(sa.bindparam("limit"))
)


def picture(connection: sa.Connection, stack_id: str, now: float, limit: int) -> Picture:
    """Return the stack with at most `limit` of its nodes."""
    stack = connection.execute(sa.select(t.stacks).where(t.stacks.c.id == stack_id)).mappings().one()
    operation = lookups.operation(connection, stack["operation_id"])
    nodes = _rows(connection, _ALL, stack_id, limit=limit + 1)
    if len(nodes) <= limit:
        return Picture(stack, operation, nodes, True, _waits(connection, nodes, unended=False))
    nodes = _in_progress(connection, stack_id, now, limit, scheduling.of(stack["convergence"]))
    return Picture(stack, operation, nodes, False, _waits(connection, nodes, unended=True))


def _in_progress(
    connection: sa.Connection, stack_id: str, now: float, limit: int, chosen: Scheduling
) -> list[dict[str, Any]]:
    # A third of the limit is left for waiting nodes.
    most = min(limit, max(limit * 2 // 3, 1))
    under_way: list[dict[str, Any]] = []
    for busy in _BUSY[chosen]:
        if len(under_way) < most:
            under_way += _rows(connection, busy, stack_id, now=now, limit=most - len(under_way))
    found = {node["id"]: node for node in sorted(under_way, key=lambda node: int(node["id"]))}
    for node in under_way:
        if (left := limit - len(found)) <= 0:
            break
        for follower in _rows(connection, _FOLLOW, stack_id, src=node["id"], limit=min(_FOLLOWERS, left)):
            found.setdefault(follower["id"], follower)
    return list(found.values())


def _rows(connection: sa.Connection, query: sa.Select[Any], stack_id: str, **bound: object) -> list[dict[str, Any]]:
    found = connection.execute(query, {"stack_id": stack_id, **bound}).mappings()
    return [{**row, "state": NodeState(row["state"]), "kind": NodeKind(row["kind"])} for row in found]


def _waits(connection: sa.Connection, nodes: Sequence[dict[str, Any]], *, unended: bool) -> dict[int, list[str]]:
    wanted = [node["id"] for node in nodes if node["pending"] or not unended]
    query = _WAITS.where(_SOURCE.c.state.not_in(_ENDED)) if unended else _WAITS
    waits: dict[int, list[str]] = {}
    if wanted:
        for dst, name in connection.execute(query, {**rows.ids(wanted), "limit": 20 * len(wanted)}):
            waits.setdefault(dst, []).append(name)
    return waits


def others_in_progress(connection: sa.Connection, project: str, besides: Collection[str] = ()) -> list[str]:
    """Return the names of other root stacks of the project with an operation in progress."""
    stack = t.stacks.c
    query = (
        sa.select(stack.name)
        .where(stack.project == project, stack.tomb == "", stack.status == Status.IN_PROGRESS,
               stack.owner_id.is_(None), stack.id.not_in(list(besides)))
        .order_by(stack.created_at)
    )
    return list(connection.execute(query).scalars())
