"""Counts of nodes by state, read in pieces of bounded cost: one thread reads, and no other read waits long for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import NodeKind, NodeState
from isotherm.store import rows
from isotherm.store import tables as t

# Nodes, or nested stacks, of one piece.
PIECE = 20_000
STACKS = 20
_NODE, _STACK = t.nodes.c, t.stacks.c

_PIECE = (
    sa.select(_NODE.name, _NODE.id, _NODE.state, _NODE.kind)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.name >= sa.bindparam("name"),
           sa.or_(_NODE.name > sa.bindparam("name"), _NODE.id > sa.bindparam("node_id")))
    .order_by(_NODE.name, _NODE.id)
    .limit(sa.bindparam("most"))
    .subquery()
)
_COUNTED = (
    sa.select(_PIECE.c.state, sa.func.count())
    .where(_PIECE.c.kind != NodeKind.BARRIER)
    .group_by(_PIECE.c.state)
)
_LAST = sa.select(_PIECE.c.name, _PIECE.c.id).order_by(_PIECE.c.name.desc(), _PIECE.c.id.desc()).limit(1)
_SIZE = sa.select(sa.func.count()).select_from(_PIECE)


class CountedPiece(msgspec.Struct, frozen=True):
    """The counts of one piece, and the position after it; None after the last one."""

    counts: dict[NodeState, int]
    next: tuple[str, int] | None


def piece(
    connection: sa.Connection, stack_id: str, after: tuple[str, int] = ("", -1), most: int = PIECE
) -> CountedPiece:
    """Count the next nodes of a stack: those that its newest operation did not have to touch too."""
    bound: dict[str, Any] = {"stack_id": stack_id, "name": after[0], "node_id": after[1], "most": most}
    found = {NodeState(state): count for state, count in connection.execute(_COUNTED, bound)}
    if connection.execute(_SIZE, bound).scalar_one() < most:
        return CountedPiece(found, None)
    last = connection.execute(_LAST, bound).one()
    return CountedPiece(found, (last[0], last[1]))


_NESTED = (
    sa.select(_NODE.state, sa.func.count())
    .where(rows.among(_NODE.stack_id), _NODE.kind != NodeKind.BARRIER)
    .group_by(_NODE.state)
)


def of_stacks(connection: sa.Connection, stack_ids: Collection[str]) -> dict[NodeState, int]:
    """Count the nodes of several nested stacks together."""
    return {NodeState(state): count for state, count in connection.execute(_NESTED, rows.ids(stack_ids))}


_BY_STACK = (
    sa.select(_NODE.stack_id, _NODE.state, sa.func.count())
    .where(rows.among(_NODE.stack_id), _NODE.kind != NodeKind.BARRIER)
    .group_by(_NODE.stack_id, _NODE.state)
)


def by_stack(connection: sa.Connection, stack_ids: Collection[str]) -> dict[str, dict[NodeState, int]]:
    """Count the nodes of several stacks, each by itself."""
    found: dict[str, dict[NodeState, int]] = {}
    for stack_id, state, count in connection.execute(_BY_STACK, rows.ids(stack_ids)):
        found.setdefault(stack_id, {})[NodeState(state)] = count
    return found


_INSIDE = sa.select(_STACK.id).where(rows.among(_STACK.owner_id), _STACK.tomb == "").order_by(_STACK.id)


def inside(connection: sa.Connection, stack_ids: Collection[str]) -> list[str]:
    """Return the ids of the stacks directly inside these."""
    return list(connection.execute(_INSIDE, rows.ids(stack_ids)).scalars())
