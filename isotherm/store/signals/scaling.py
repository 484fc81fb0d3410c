"""Unit of work that stores the result of scaling in the row of a group, without a lease, while the group is idle."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import NodeKind
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.records import Version
from isotherm.store.transitions import nodes, versions

_NODE, _VERSION = t.nodes.c, t.resources.c


class GroupRow(NamedTuple):
    """The version of a group resource, with its node."""

    version: Version
    node_id: int
    state: int
    definition: str


def find(connection: sa.Connection, stack_id: str, physical_id: str) -> GroupRow | None:
    """Find the current version of the stack with this physical id."""
    found = connection.execute(
        sa.select(_VERSION.id, _NODE.id, _NODE.state, _NODE.definition)
        .join(t.nodes, rows.stands_for())
        .where(_VERSION.stack_id == stack_id, _VERSION.physical_id == physical_id, _VERSION.superseded == sa.false(),
               _NODE.kind != NodeKind.CLEANUP)
    ).first()
    if found is None:
        return None
    definition = sealing.of(connection).open(found[3], "definition", found[1], stack_id)
    return GroupRow(rows.versions(connection, [found[0]])[found[0]], found[1], found[2], definition)


def adjust(connection: sa.Connection, group: GroupRow, data: str, digest: str) -> None:
    """Store the data of a scaling. Raises Conflict if the group has changed since it was read."""
    # The node first, by a write that changes nothing: a concurrent plan or claim of the node has to wait.
    idle = nodes.lock_idle(connection, group.node_id, group.version.id)
    version = group.version
    # Read after that write, so that the row is stable. The database cannot compare sealed values.
    present = rows.versions(connection, [version.id]).get(version.id)
    written = versions.write_scaling(connection, version, data, digest)
    if not idle or not written or present is None or present.data != version.data:
        raise errors.Conflict("The group is being changed.", kind="ActionInProgress")
