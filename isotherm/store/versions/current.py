"""The nodes of a stack by name, each with its current version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from isotherm.states import NodeKind, NodeState, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import NodeWrite, Operation
from isotherm.store.transitions import nodes

_NODE, _VERSION = t.nodes.c, t.resources.c


class Slot(NamedTuple):
    """A node with the columns of its current version that prove whether it is up to date."""

    id: int
    name: str
    kind: int
    state: int
    outdated: bool
    awaits_cleanup: bool
    resource_id: int | None
    status: int | None
    digest: str | None
    intent: bool
    suspended: bool | None
    generation: int

    def proves(self, digest: str) -> bool:
        """Return whether the rows prove that the definition with this digest is in effect."""
        return (
            self.digest == digest and self.state == NodeState.DONE and self.kind == NodeKind.UPDATE
            and self.status == Status.COMPLETE and not self.intent and not self.suspended
        )


def of(connection: sa.Connection, stack_id: str) -> dict[str, Slot]:
    """Return the nodes of the stack by name, without barriers and without clean-up nodes of superseded versions."""
    found = connection.execute(
        sa.select(_NODE.id, _NODE.name, _NODE.kind, _NODE.state, _NODE.outdated, _NODE.awaits_cleanup,
                  _NODE.resource_id, _VERSION.status,
                  _VERSION.digest, _VERSION.intent.is_not(None), _VERSION.suspended, _NODE.generation)
        .outerjoin(t.resources, _VERSION.id == _NODE.resource_id)
        .where(_NODE.stack_id == stack_id, sa.or_(_VERSION.superseded.is_(None), _VERSION.superseded == sa.false()),
               _NODE.kind != NodeKind.BARRIER)
    )
    return {row[1]: Slot._make(row) for row in found}


def planned(connection: sa.Connection, stack_id: str) -> dict[str, str | None]:
    """Return the digests of the definitions that the nodes of a stack are to reach, by name."""
    found = connection.execute(sa.select(_NODE.name, _NODE.digest).where(
        _NODE.stack_id == stack_id, _NODE.kind != NodeKind.BARRIER, _NODE.kind != NodeKind.CLEANUP))
    return {row[0]: row[1] for row in found}


def add(connection: sa.Connection, operation: Operation, names: Sequence[str]) -> dict[str, Slot]:
    """Insert nodes for names that have none, without versions."""
    if not names:
        return {}
    new = [NodeWrite(id_, name, NodeKind.UPDATE, NodeState.PENDING, 0)
           for id_, name in zip(rows.take_ids(connection, len(names)), names, strict=True)]
    nodes.insert(connection, new, operation, 0.0)
    return {w.name: Slot(w.id, w.name, w.kind, w.state, w.outdated, w.awaits_cleanup, None, None, None, False, None,
                         operation.generation)
            for w in new}
