"""The resources of a stack that wait because an update has left them out."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.states import NodeKind, NodeState
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.records import Operation

_OP, _NODE = t.operations.c, t.nodes.c
_UNPROVEN = (NodeState.SKIPPED, NodeState.FAILED)


def names(connection: sa.Connection, operation_id: str) -> list[str]:
    """Return the resources that an operation has left behind its newest input: those to which it does not apply yet, and
    those that were not visited although something that they read has changed."""
    found = connection.execute(sa.select(_OP.stack_id, _OP.scope).where(_OP.id == operation_id)).one_or_none()
    scope = None if found is None else rows.scope_of(found.scope)
    if found is None or scope is None or not scope.leaves:
        return []
    unproven = connection.execute(sa.select(_NODE.name).where(
        _NODE.stack_id == found.stack_id, _NODE.state.in_(_UNPROVEN), _NODE.kind != NodeKind.BARRIER)).scalars()
    return sorted({*scope.waits, *unproven})


def on_purpose(connection: sa.Connection, operation_id: str) -> list[str]:
    """Return the resources that users have left out, and a repair therefore leaves out too.

    Resources that failed, or were not reached, in the operation itself are not among them: a repair goes on with them.
    """
    scope = rows.scope_of(connection.execute(sa.select(_OP.scope).where(_OP.id == operation_id)).scalar())
    if scope is None:
        return []
    return [name for name in names(connection, operation_id) if name in scope.waits or name not in scope.names]


def caveat(connection: sa.Connection, operation: Operation) -> str:
    """Return the caveat for the end of an operation after which resources wait; empty if there are none."""
    if operation.scope is None or not operation.scope.leaves:
        return ""
    waiting = names(connection, operation.id)
    return f". Left out: {len(waiting)} resource{'s' if len(waiting) > 1 else ''}" if waiting else ""
