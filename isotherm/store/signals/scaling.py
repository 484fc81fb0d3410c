"""Unit of work: a group was scaled; its row is told, without a lease, if nobody is at work on it."""

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


class Group(NamedTuple):
    """A resource that is a group, with its place in the graph."""

    version: Version
    node_id: int
    state: int
    definition: str


def find(connection: sa.Connection, stack_id: str, physical_id: str) -> Group | None:
    """The living resource of the stack with this physical id."""
    found = connection.execute(
        sa.select(_VERSION.id, _NODE.id, _NODE.state, _NODE.definition)
        .join(t.nodes, rows.stands_for())
        .where(_VERSION.stack_id == stack_id, _VERSION.physical_id == physical_id, _VERSION.superseded == sa.false(),
               _NODE.kind != NodeKind.CLEANUP)
    ).first()
    if found is None:
        return None
    definition = sealing.of(connection).open(found[3], "definition", found[1], stack_id)
    return Group(rows.versions(connection, [found[0]])[found[0]], found[1], found[2], definition)


def adjust(connection: sa.Connection, group: Group, data: str, digest: str) -> None:
    """Keep what scaling has to remember; raises Conflict if the group is not what it was when it was read."""
    # The node first, by a write that changes nothing: whoever plans or claims it at the same moment has to wait.
    idle = nodes.lock_idle(connection, group.node_id, group.version.id)
    version = group.version
    # Read after that write, so that it cannot change any more; sealed, it could not be compared by the database.
    present = rows.versions(connection, [version.id]).get(version.id)
    written = versions.write_scaling(connection, version, data, digest)
    if not idle or not written or present is None or present.data != version.data:
        raise errors.Conflict("The group is being changed.", kind="ActionInProgress")
