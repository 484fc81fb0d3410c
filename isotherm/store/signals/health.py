"""Unit of work that marks a resource as unhealthy or healthy on request of a user."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import Action, NodeKind, NodeState, Status
from isotherm.store import missing, rows
from isotherm.store import tables as t
from isotherm.store.reads.lookups import Row
from isotherm.store.records import Event
from isotherm.store.transitions import versions

_NODE, _VERSION = t.nodes.c, t.resources.c
_BUSY = (NodeState.RUNNING, NodeState.WAITING)


class HealthMark(NamedTuple):
    """The request to mark a resource, with its reason."""

    unhealthy: bool
    reason: str


_FIND = (
    sa.select(_VERSION.id, _NODE.name, _VERSION.type, _VERSION.physical_id, _VERSION.action, _VERSION.status,
              _NODE.state, _NODE.worker, _VERSION.intent)
    .join(t.resources, _VERSION.id == _NODE.resource_id)
    .where(_NODE.stack_id == sa.bindparam("stack_id"), _NODE.kind != NodeKind.BARRIER,
           _VERSION.superseded == sa.false())
)


def mark(connection: sa.Connection, stack: Row, resource: str, said: HealthMark, now: float) -> None:
    """Set a resource to CHECK_FAILED, or back to CHECK_COMPLETE. Raises Conflict while the resource is in progress."""
    found = _find(connection, stack, resource)
    action, status = found.action, found.status
    failed = (action, status) == (Action.CHECK, Status.FAILED)
    if found.worker is not None or found.intent is not None or found.state in _BUSY:
        raise errors.Conflict(
            f"Stack {stack['name']} already has an action ({Action(stack['action']).name}) in progress.",
            kind="ActionInProgress", hint=f"Resource {found.name} is in progress. Repeat the request when it has ended.",
        )
    if action == Action.DELETE or (not said.unhealthy and not failed):
        return
    now_is = Status.FAILED if said.unhealthy else Status.COMPLETE
    versions.mark(connection, found.id, now_is, said.reason, now)
    if failed and said.unhealthy:
        return
    event = Event(stack["id"], stack["operation_id"], found.name, found.type, found.physical_id, Action.CHECK, now_is,
                 said.reason)
    rows.insert_events(connection, [event], now)


def _find(connection: sa.Connection, stack: Row, resource: str) -> Any:
    """Find a resource by name, or by a physical id that only one resource has."""
    stack_id = {"stack_id": stack["id"]}
    found = connection.execute(_FIND.where(_NODE.name == resource), stack_id).first()
    if found is not None:
        return found
    several = connection.execute(_FIND.where(_VERSION.physical_id == resource), stack_id).all()
    if len(several) > 1:
        raise errors.UserError(f"Multiple resources were found with the physical ID ({resource}).",
                               kind="PhysicalResourceIDAmbiguity", hint="Name the resource.")
    if not several:
        raise missing.resource(connection, stack["id"], resource)
    return several[0]
