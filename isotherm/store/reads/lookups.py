"""Single reads of stacks, operations, nodes, versions and blobs. They take no lock and change nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import sqlalchemy as sa

from isotherm.secrets import is_sealed, unreadable
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing

Row = sa.RowMapping


def blobs(connection: sa.Connection, hashes: Collection[str], owner: str = "") -> dict[str, str]:
    """Return blobs by hash or address. `owner` is the stack that an input belongs to. Raises Unreadable."""
    blob, box = t.blobs.c, sealing.of(connection)
    wanted = {address: hash_ for hash_ in hashes for address in box.addresses(hash_, owner)}
    rows_ = connection.execute(sa.select(blob.hash, blob.content).where(rows.among(blob.hash)), rows.ids(wanted))
    found = {wanted[address]: box.open(content, "content", address, owner) for address, content in rows_}
    for text in found.values():
        if is_sealed(text):
            raise unreadable(text, "A template or file of the stack")
    return found


# Every request reads a stack, so the statement is built once.
_STACK = sa.select(t.stacks).where(
    t.stacks.c.project == sa.bindparam("in_project"),
    sa.or_(t.stacks.c.id == sa.bindparam("called"),
           sa.and_(t.stacks.c.name == sa.bindparam("called"), t.stacks.c.tomb == "")),
).order_by(t.stacks.c.tomb)


def stack(connection: sa.Connection, project: str, name_or_id: str) -> Row | None:
    """Find a stack by name or id; a deleted one by id only."""
    found = connection.execute(_STACK, {"in_project": project, "called": name_or_id}).mappings().all()
    # A stack may have the id of another one as its name: the id wins.
    return next((row for row in found if row["id"] == name_or_id), found[0] if found else None)


def by_id(connection: sa.Connection, stack_id: str) -> Row | None:
    """Return the row of a stack of any project."""
    return connection.execute(sa.select(t.stacks).where(t.stacks.c.id == stack_id)).mappings().one_or_none()


#: Kinds of objects that belong to a project and have an id of their own.
Kind = Literal["stacks", "software_configs", "software_deployments"]


def owner(connection: sa.Connection, kind: Kind, id_: str) -> str | None:
    """Return the project that an object belongs to, or None if there is no such object."""
    table = t.metadata.tables[kind]
    return connection.execute(sa.select(table.c.project).where(table.c.id == id_)).scalar()


def stacks(connection: sa.Connection, project: str) -> Sequence[Row]:
    s = t.stacks.c
    query = sa.select(t.stacks).where(s.project == project, s.tomb == "", s.owner_id.is_(None))
    return connection.execute(query.order_by(s.created_at, s.id)).mappings().all()


def operation(connection: sa.Connection, operation_id: str) -> Row | None:
    query = sa.select(t.operations).where(t.operations.c.id == operation_id)
    return connection.execute(query).mappings().one_or_none()


def inputs(connection: sa.Connection, stack_id: str) -> list[str]:
    """Return the stored inputs of a stack's operations, newest first: few operations are kept."""
    query = sa.select(t.operations.c.input).where(t.operations.c.stack_id == stack_id, t.operations.c.input != "")
    return list(dict.fromkeys(connection.execute(query.order_by(t.operations.c.generation.desc())).scalars()))


def resources(connection: sa.Connection, stack_id: str, *, documents: bool = True) -> list[dict[str, Any]]:
    """Return every node of a stack with its version, if it has one, in the order of node ids.

    Without `documents`, sealed columns stay sealed, except the definitions of nodes without a version.
    """
    opened = sealing.of(connection).open
    n, r = t.nodes.c, t.resources.c
    query = (
        sa.select(n.id.label("node_id"), n.name, n.kind, n.state, n.reason.label("waits_for"), n.due, n.definition,
                  r.id, n.stack_id, r.type, r.implementation, r.token, r.data,
                  r.physical_id, r.action, r.status, r.reason, r.superseded, r.properties, r.metadata,
                  r.published, r.requires, r.digest, r.intent, r.suspended, r.deletion_policy, r.operation_id,
                  r.protection, r.protector, r.template_protection, r.created_at, r.updated_at)
        .outerjoin(t.resources, r.id == n.resource_id)
        .where(n.stack_id == stack_id, n.kind != NodeKind.BARRIER)
        .order_by(n.id)
    )
    found = [dict(row) for row in connection.execute(query).mappings()]
    for row in found:
        row["action"] = Action(row["action"]) if row["action"] is not None else Action.INIT
        row["status"] = Status(row["status"]) if row["status"] is not None else Status.COMPLETE
        row["state"], row["kind"] = NodeState(row["state"]), NodeKind(row["kind"])
        if documents or row["type"] is None:
            row["definition"] = opened(row["definition"], "definition", row["node_id"], stack_id)
        for column in rows.SEALED if documents else ():
            row[column] = opened(row[column], column, row["id"], stack_id)
    return found


def counts(connection: sa.Connection, stack_id: str, generation: int) -> dict[NodeState, int]:
    """Count the nodes of an operation by state."""
    n = t.nodes.c
    query = (
        sa.select(n.state, sa.func.count())
        .where(n.stack_id == stack_id, n.generation == generation, n.kind != NodeKind.BARRIER)
        .group_by(n.state)
    )
    return {NodeState(state): count for state, count in connection.execute(query)}


def edges(connection: sa.Connection, stack_id: str) -> list[tuple[str, str]]:
    """Return the edges of a stack as pairs of names: requirement, dependant."""
    n, e = t.nodes.c, t.edges.c
    src = t.nodes.alias()
    query = (
        sa.select(src.c.name, n.name)
        .join(t.edges, e.dst == n.id)
        .join(src, src.c.id == e.src)
        .where(n.stack_id == stack_id, e.kind == 1)
        .order_by(n.id)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def published(
    connection: sa.Connection, stack_id: str, names: Collection[str] | None = None
) -> list[tuple[str, int | None, str | None]]:
    """Return the published values of the named resources (None: all of the template): name, version, text."""
    n, r = t.nodes.c, t.resources.c
    query = (
        sa.select(n.name, r.id, r.published)
        .outerjoin(t.resources, r.id == n.resource_id)
        .where(n.stack_id == stack_id, n.kind != NodeKind.BARRIER)
    )
    if names is None:
        found = connection.execute(query.where(n.kind != NodeKind.CLEANUP).order_by(n.id))
    else:
        found = connection.execute(query.where(rows.among(n.name)), rows.ids(names))
    opened = sealing.of(connection).open
    return [(name, id_, opened(text, "published", id_, stack_id)) for name, id_, text in found]


def conditions(connection: sa.Connection, stack_id: str) -> list[tuple[str, bool, float]]:
    """Return name, whether it failed, and creation time of each resource of a stack that has a version."""
    n, r = t.nodes.c, t.resources.c
    query = (
        sa.select(n.name, r.status, r.created_at)
        .join(t.resources, r.id == n.resource_id)
        .where(n.stack_id == stack_id, n.kind.not_in([NodeKind.BARRIER, NodeKind.CLEANUP]))
    )
    return [(row[0], row[1] == Status.FAILED, row[2]) for row in connection.execute(query)]


def retained(connection: sa.Connection, stack_id: str) -> Sequence[Row]:
    query = sa.select(t.retained).where(t.retained.c.stack_id == stack_id).order_by(t.retained.c.id)
    return connection.execute(query).mappings().all()


def is_cancelled(connection: sa.Connection, operation_id: str) -> bool:
    query = sa.select(t.operations.c.cancelled).where(t.operations.c.id == operation_id)
    return bool(connection.execute(query).scalar_one_or_none())


def deadline(connection: sa.Connection, operation_id: str) -> float | None:
    query = sa.select(t.operations.c.deadline).where(t.operations.c.id == operation_id)
    return connection.execute(query).scalar_one_or_none()
