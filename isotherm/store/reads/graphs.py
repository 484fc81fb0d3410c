"""Reads of the graph of a stack, in pieces: nodes with their types, their states, and edges; pages of nodes; neighbours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import EdgeKind, NodeKind, NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing

Row = dict[str, Any]
# Nodes of one piece.
PIECE = 10_000
_NODE, _VERSION, _EDGE, _STACK = t.nodes.c, t.resources.c, t.edges.c, t.stacks.c
_CHILD = t.stacks.alias()

_POSITION = sa.and_(_NODE.name >= sa.bindparam("name"),
                    sa.or_(_NODE.name > sa.bindparam("name"), _NODE.id > sa.bindparam("id")))
_NODES = (
    sa.select(_NODE.id, _NODE.name, _NODE.kind, _NODE.state, _NODE.resource_id, _VERSION.type,
              _CHILD.c.id.label("child_id"), _CHILD.c.name.label("child_name"),
              sa.case((_VERSION.id.is_(None), _NODE.definition)).label("definition"),
              _VERSION.superseded)
    .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
    .outerjoin(_CHILD, sa.and_(_CHILD.c.id == _VERSION.physical_id, _CHILD.c.owner_id == _NODE.stack_id))
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _POSITION)
    .order_by(_NODE.name, _NODE.id).limit(sa.bindparam("most"))
)
_STATES = (
    sa.select(_NODE.name, _NODE.id, _NODE.state)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _POSITION)
    .order_by(_NODE.name, _NODE.id).limit(sa.bindparam("most"))
)
_EDGES = sa.select(_EDGE.src, _EDGE.dst, _EDGE.kind).where(rows.among(_EDGE.dst))


def nodes(connection: sa.Connection, stack_id: str, after: tuple[str, int] = ("", -1), most: int = PIECE) -> list[Row]:
    """Return the next nodes by name, with the nested stack that each is. Nodes without a version have their definition."""
    bound = {"stack_id": stack_id, "name": after[0], "id": after[1], "most": most}
    opened = sealing.of(connection).open
    found = [dict(row) for row in connection.execute(_NODES, bound).mappings()]
    for row in found:
        if row["definition"] is not None:
            row["definition"] = opened(row["definition"], "definition", row["id"], stack_id)
    return found


def states(
    connection: sa.Connection, stack_id: str, after: tuple[str, int] = ("", -1), most: int = PIECE
) -> list[tuple[str, int, int]]:
    """Return name, id and state of the next nodes."""
    bound = {"stack_id": stack_id, "name": after[0], "id": after[1], "most": most}
    return [(row[0], row[1], row[2]) for row in connection.execute(_STATES, bound)]


def size(connection: sa.Connection, stack_id: str, most: int) -> int:
    """Return the number of nodes of a stack; `most` stands for more."""
    some = sa.select(_NODE.id).where(_NODE.stack_id == stack_id).limit(most).subquery()
    return int(connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one())


def edges(connection: sa.Connection, node_ids: Collection[int]) -> list[tuple[int, int, int]]:
    """Return the edges that lead to these nodes: source, target, kind."""
    return [(row[0], row[1], row[2]) for row in connection.execute(_EDGES, rows.ids(node_ids))]


class NodeQuery(msgspec.Struct, frozen=True):
    """A request for a page of nodes: of these ids, or of these stacks."""

    stack_ids: Sequence[str]
    node_ids: Sequence[int] | None = None
    states: Sequence[NodeState] = ()
    type: str = ""
    search: str = ""
    attention: bool = False
    after: tuple[int, str, int] | None = None
    limit: int = 100


_RANK = sa.case({int(NodeState.FAILED): 0, int(NodeState.RUNNING): 1, int(NodeState.WAITING): 2,
                 int(NodeState.SCHEDULED): 3, int(NodeState.PENDING): 4}, value=_NODE.state, else_=5)
_MEMBER = (
    _NODE.id, _NODE.name, _NODE.kind, _NODE.state, _NODE.reason.label("waits_for"), _NODE.stack_id, _NODE.resource_id,
    _VERSION.type, _VERSION.action, _VERSION.status, _VERSION.reason, _VERSION.physical_id, _VERSION.superseded,
    _CHILD.c.id.label("child_id"), _CHILD.c.name.label("child_name"), _STACK.name.label("stack_name"),
    sa.case((_VERSION.id.is_(None), _NODE.definition)).label("definition"),
)


def page(connection: sa.Connection, query: NodeQuery) -> list[Row]:
    """Return a page of nodes with their versions; `rank` is the place in the order of attention."""
    rank = (_RANK if query.attention else sa.literal(0)).label("rank")
    found = (
        sa.select(*_MEMBER, rank).select_from(t.nodes)
        .join(t.stacks, _STACK.id == _NODE.stack_id)
        .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
        .outerjoin(_CHILD, sa.and_(_CHILD.c.id == _VERSION.physical_id, _CHILD.c.owner_id == _NODE.stack_id))
        .where(_NODE.kind != NodeKind.BARRIER, *_conditions(query))
        .order_by(rank, _NODE.name, _NODE.id).limit(query.limit)
    )
    if query.node_ids is not None:
        bound = rows.ids(query.node_ids)
        found = found.where(rows.among(_NODE.id))
    elif len(query.stack_ids) == 1:
        bound = {}
        found = found.where(_NODE.stack_id == query.stack_ids[0])
    else:
        bound = rows.ids(query.stack_ids)
        found = found.where(rows.among(_NODE.stack_id))
    opened = sealing.of(connection).open
    members = [dict(row) for row in connection.execute(found, bound).mappings()]
    for row in members:
        if row["definition"] is not None:
            row["definition"] = opened(row["definition"], "definition", row["id"], row["stack_id"])
    return members


def _conditions(query: NodeQuery) -> list[sa.ColumnElement[bool]]:
    wanted: list[sa.ColumnElement[bool]] = []
    if query.states:
        wanted.append(_NODE.state.in_([int(one) for one in query.states]))
    if query.search:
        wanted.append(sa.func.lower(_NODE.name).contains(query.search.lower(), autoescape=True))
    if query.type:
        # The type of a node without a version is in its definition, which only the reader can open.
        kind = sa.func.lower(_VERSION.type).contains(query.type.lower(), autoescape=True)
        wanted.append(sa.or_(_VERSION.id.is_(None), kind))
    if query.after is not None:
        rank, name, id_ = query.after
        key = _RANK if query.attention else sa.literal(0)
        later = sa.and_(key == rank, sa.or_(_NODE.name > name, sa.and_(_NODE.name == name, _NODE.id > id_)))
        wanted.append(sa.or_(key > rank, later) if query.attention else later)
    return wanted


_FULL = (*_MEMBER, _NODE.pending, _NODE.generation, _NODE.due, _NODE.worker, _NODE.fence, _NODE.lease_until)
_WHOLE = (
    sa.select(*_FULL).select_from(t.nodes)
    .join(t.stacks, _STACK.id == _NODE.stack_id)
    .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
    .outerjoin(_CHILD, sa.and_(_CHILD.c.id == _VERSION.physical_id, _CHILD.c.owner_id == _NODE.stack_id))
)


def named(connection: sa.Connection, stack_id: str, name: str) -> Row | None:
    """Return the node of a resource; of several, that of the current version."""
    query = _WHOLE.where(_NODE.stack_id == stack_id, _NODE.name == name, _NODE.kind != NodeKind.BARRIER)
    found = connection.execute(query.order_by(_NODE.kind == NodeKind.CLEANUP, _NODE.id.desc())).mappings().first()
    return None if found is None else _opened(connection, found)


def _opened(connection: sa.Connection, found: Any) -> Row:
    row = dict(found)
    if row["definition"] is not None:
        row["definition"] = sealing.of(connection).open(row["definition"], "definition", row["id"], row["stack_id"])
    return row


_UNENDED = (NodeState.PENDING, NodeState.SCHEDULED, NodeState.RUNNING, NodeState.WAITING)


def blocking(connection: sa.Connection, node_id: int, *, failed: bool) -> Row | None:
    """Return a node that this one waits for, one that waits itself if there is one; `failed`: that it was skipped for."""
    states = (NodeState.FAILED, NodeState.SKIPPED) if failed else _UNENDED
    query = (_WHOLE.join(t.edges, _EDGE.src == _NODE.id)
             .where(_EDGE.dst == node_id, _EDGE.kind != EdgeKind.SOFT if failed else sa.true(), _NODE.state.in_(states))
             .order_by(_NODE.state.desc() if failed else _NODE.state, _NODE.id).limit(1))
    found = connection.execute(query).mappings().first()
    return None if found is None else _opened(connection, found)


def busiest(connection: sa.Connection, stack_id: str, *, failed: bool) -> Row | None:
    """Return a node that keeps a nested stack from ending; `failed`: one that has failed."""
    condition = _NODE.state == NodeState.FAILED if failed else _NODE.due.is_not(None)
    query = _WHOLE.where(_NODE.stack_id == stack_id, condition, _NODE.kind != NodeKind.BARRIER)
    found = connection.execute(query.order_by(_NODE.state.desc(), _NODE.id).limit(1)).mappings().first()
    return None if found is None else _opened(connection, found)


_SIDES = {True: (_EDGE.src, _EDGE.dst), False: (_EDGE.dst, _EDGE.src)}


def neighbours(connection: sa.Connection, node_id: int, most: int, *, required: bool) -> tuple[list[Row], int]:
    """Return the nodes that a node requires, or that require it, those that have not ended first; and their number."""
    other, own = _SIDES[required]
    joined = sa.select(sa.func.count()).select_from(t.edges).join(t.nodes, _NODE.id == other).where(
        own == node_id, _NODE.kind != NodeKind.BARRIER)
    total = int(connection.execute(joined).scalar_one())
    query = (_WHOLE.join(t.edges, other == _NODE.id).where(own == node_id, _NODE.kind != NodeKind.BARRIER)
             .order_by(_NODE.state, _NODE.name).limit(most))
    return [_opened(connection, row) for row in connection.execute(query).mappings()], total


def versions(connection: sa.Connection, stack_id: str, name: str) -> Sequence[sa.RowMapping]:
    """Return the versions of a resource, newest first."""
    query = (
        sa.select(_VERSION.id, _VERSION.physical_id, _VERSION.action, _VERSION.status, _VERSION.superseded,
                  _VERSION.replaces, _VERSION.replaced_by, _VERSION.created_at, _VERSION.updated_at)
        .where(_VERSION.stack_id == stack_id, _VERSION.name == name).order_by(_VERSION.id.desc()).limit(50))
    return connection.execute(query).mappings().all()


_BUSY_NODES = (
    sa.select(_NODE.id, _NODE.name, _NODE.state, _NODE.kind)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.due.is_not(None), _NODE.kind != NodeKind.BARRIER)
    .order_by(_NODE.due).limit(sa.bindparam("most"))
)
_BY_NAME = (sa.select(_NODE.id, _NODE.name, _NODE.state, _NODE.kind)
            .where(_NODE.stack_id == sa.bindparam("in_stack"), rows.among(_NODE.name), _NODE.kind != NodeKind.BARRIER))
_BY_ID = sa.select(_NODE.id, _NODE.name, _NODE.state, _NODE.kind).where(rows.among(_NODE.id))


def busy(connection: sa.Connection, stack_id: str, most: int) -> list[tuple[int, str, NodeState]]:
    """Return the nodes that are ready or in progress: id, name, state."""
    found = connection.execute(_BUSY_NODES, {"stack_id": stack_id, "most": most})
    return [(row[0], row[1], NodeState(row[2])) for row in found]


def by_names(connection: sa.Connection, stack_id: str, names: Collection[str]) -> list[tuple[int, str, NodeState]]:
    found = connection.execute(_BY_NAME, {"in_stack": stack_id, **rows.ids(names)})
    return [(row[0], row[1], NodeState(row[2])) for row in found]


def by_ids(connection: sa.Connection, node_ids: Collection[int]) -> list[tuple[int, str, NodeState]]:
    return [(row[0], row[1], NodeState(row[2])) for row in connection.execute(_BY_ID, rows.ids(node_ids))]
