"""Lists of resources for the API: node ids first, then pages of rows, so that a long list does not block other reads.

A list shows the current version of each resource. Superseded versions are left out; a resource that the template no longer
has is shown until it is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, EdgeKind, NodeKind, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing

Row = dict[str, Any]
_NODE, _VERSION, _EDGE = t.nodes.c, t.resources.c, t.edges.c
# Most digits of an id that fits into the column.
_DIGITS = 18


class Filters(msgspec.Struct, frozen=True):
    """Conditions for resources: one of the values; None: any."""

    # A part of the type's name.
    type: str | None = None
    # Names select nodes; the other filters select versions.
    name: Sequence[str] | None = None
    action: Sequence[str] | None = None
    status: Sequence[str] | None = None
    id: Sequence[str] | None = None
    physical_id: Sequence[str] | None = None


class Inner(msgspec.Struct, frozen=True):
    """A nested stack, with the id of its parent stack (`around`) and the name of its parent resource."""

    id: str
    name: str
    around: str
    resource: str


def node_ids(connection: sa.Connection, stack_ids: Sequence[str], names: Sequence[str] | None = None) -> list[int]:
    """Return the node ids of these stacks (with these names), stack by stack, in ascending order."""
    query = sa.select(_NODE.id, _NODE.stack_id).where(rows.among(_NODE.stack_id))
    query = query if names is None else query.where(_NODE.name.in_(names))
    found = connection.execute(query, rows.ids(stack_ids))
    place = {id_: number for number, id_ in enumerate(stack_ids)}
    return [row[0] for row in sorted(found, key=lambda row: (place[row[1]], row[0]))]


_CHILD = t.stacks.alias()
_INSIDE = sa.and_(_CHILD.c.id == _VERSION.physical_id, _CHILD.c.owner_id == _NODE.stack_id)
_ROWS = (
    sa.select(_NODE.id.label("node_id"), _NODE.name, _NODE.kind, _NODE.definition, _NODE.stack_id, _VERSION.id,
              _VERSION.type, _VERSION.implementation, _VERSION.physical_id,
              sa.func.coalesce(_VERSION.action, int(Action.INIT)).label("action"),
              sa.func.coalesce(_VERSION.status, int(Status.COMPLETE)).label("status"),
              _VERSION.reason, _VERSION.created_at, _VERSION.updated_at, _CHILD.c.id.label("child_id"),
              _CHILD.c.name.label("child_name"))
    .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
    .outerjoin(_CHILD, _INSIDE)
    .where(rows.among(_NODE.id), _NODE.kind != NodeKind.BARRIER,
           sa.or_(_VERSION.superseded == sa.false(),
                  sa.and_(_VERSION.id.is_(None), _NODE.kind != NodeKind.CLEANUP)))
)


def page(
    connection: sa.Connection, nodes: Sequence[int], filters: Filters = Filters(), *,  # noqa: B008 - frozen
    definitions: bool = True,
) -> list[Row]:
    """Return the rows of these nodes, in their order. The type filter ignores nodes without a version.

    Without `definitions`, only nodes without a version have one.
    """
    place, opened = {id_: number for number, id_ in enumerate(nodes)}, sealing.of(connection).open
    found = [dict(row) for row in connection.execute(_ROWS.where(*_chosen(filters)), rows.ids(nodes)).mappings()]
    for row in found:
        wanted = definitions or row["type"] is None
        row["definition"] = opened(row["definition"], "definition", row["node_id"], row["stack_id"]) if wanted else None
    return sorted(found, key=lambda row: place[row["node_id"]])


def _chosen(filters: Filters) -> list[sa.ColumnElement[bool]]:
    wanted: list[sa.ColumnElement[bool]] = []
    if filters.type is not None:
        wanted.append(sa.or_(_VERSION.type.is_(None), _VERSION.type.contains(filters.type, autoescape=True)))
    if filters.physical_id is not None:
        wanted.append(_VERSION.physical_id.in_(filters.physical_id))
    if filters.id is not None:
        wanted.append(_VERSION.id.in_([number for one in filters.id if (number := whole(one)) is not None]))
    if filters.action is not None:
        wanted.append(sa.func.coalesce(_VERSION.action, int(Action.INIT)).in_(
            [int(Action[one]) for one in filters.action if one in Action.__members__]))
    if filters.status is not None:
        wanted.append(sa.func.coalesce(_VERSION.status, int(Status.COMPLETE)).in_(
            [int(Status[one]) for one in filters.status if one in Status.__members__]))
    return wanted


def whole(text: str) -> int | None:
    """Return the number in a text if it can be the id of a row, else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


_DEPENDANTS = (
    sa.select(_EDGE.src, _NODE.name)
    .join(t.nodes, _NODE.id == _EDGE.dst)
    .where(rows.among(_EDGE.src), _EDGE.kind == EdgeKind.REQUIRES, _NODE.kind != NodeKind.BARRIER)
    .order_by(_EDGE.src, _EDGE.dst)
)


def required_by(connection: sa.Connection, nodes: Collection[int]) -> dict[int, list[str]]:
    """Return the names of the dependants by node."""
    found: dict[int, list[str]] = {}
    for src, name in connection.execute(_DEPENDANTS, rows.ids(nodes)):
        found.setdefault(src, []).append(name)
    return found


_INNER = (
    sa.select(_CHILD.c.id, _CHILD.c.name, _NODE.stack_id, _NODE.name)
    .select_from(t.nodes)
    .join(t.resources, _VERSION.id == _NODE.resource_id)
    .join(_CHILD, _INSIDE)
    .where(rows.among(_NODE.stack_id), _VERSION.superseded == sa.false())
    .order_by(_NODE.id)
)


def inner(connection: sa.Connection, stack_ids: Collection[str]) -> list[Inner]:
    """Return the nested stacks directly inside these stacks."""
    return [Inner(*row) for row in connection.execute(_INNER, rows.ids(stack_ids))]


def parent_resource(connection: sa.Connection, stack_id: str, owner_id: str) -> str | None:
    """Return the name of the parent resource of a nested stack."""
    query = sa.select(_VERSION.name).where(_VERSION.stack_id == owner_id, _VERSION.physical_id == stack_id)
    return connection.execute(query).scalars().first()
