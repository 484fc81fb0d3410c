"""Choose the operation that repairs a stack: an update of its root stack, for the resource that leads to the drift."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, NodeKind, Status
from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.database import sealing
from isotherm.store.reads import resource_list
from isotherm.store.watch import inherited
from isotherm.store.watch.inherited import root
from isotherm.store.watch.schedule import Watch

_STACK = t.stacks.c


class Need(msgspec.Struct, frozen=True, gc=False):
    """A resource to repair, with the metadata that its template gives it."""

    name: str
    type: str
    physical_id: str | None
    metadata: str
    external: bool = False
    # Whether its object does not exist any more.
    gone: bool = False


class Goal(msgspec.Struct, frozen=True, gc=False):
    """The root stack that a repair updates, its generation when that was decided, and the resources to repair."""

    stack_id: str
    generation: int
    names: tuple[str, ...]


def of(connection: sa.Connection, watch: Watch, names: Collection[str]) -> Goal | None:
    """Return the goal of a repair of these resources, or None if the root stack cannot be repaired now.

    It cannot if an operation is in progress, if the stack is suspended or being deleted, or if the user's last operation
    failed: the user decides how to continue. Nothing inside a resource that is to be deleted is repaired.
    """
    outer, way = root(connection, watch.stack_id)
    found = connection.execute(
        sa.select(_STACK.generation, _STACK.status, _STACK.action, _STACK.operation_id, _STACK.tomb, t.watches.c.repair_id)
        .outerjoin(t.watches, t.watches.c.stack_id == _STACK.id).where(_STACK.id == outer)
    ).one_or_none()
    if found is None or found.tomb or found.action in (Action.SUSPEND, Action.DELETE) or _has_suspended(connection, outer):
        return None
    ours = found.operation_id == found.repair_id or found.action == Action.CHECK
    if found.status == Status.IN_PROGRESS or (found.status == Status.FAILED and not ours):
        return None
    if outer == watch.stack_id:
        return Goal(outer, found.generation, tuple(names))
    parents = [_wanted_parent(connection, inner, around) for inner, around in itertools.pairwise([*way, outer])]
    # A missing parent at any level means that the stacks below it are to be deleted.
    return Goal(outer, found.generation, (parents[-1],)) if parents[-1] and all(parents) else None


def _wanted_parent(connection: sa.Connection, stack_id: str, owner_id: str) -> str | None:
    """Return the name of the parent resource of a nested stack, or None if that version of it is to be deleted."""
    node, version = t.nodes.c, t.resources.c
    known = version.physical_id == stack_id
    if resource_list.parent_resource(connection, stack_id, owner_id) is None:
        name = inherited.interrupted_parent(connection, stack_id, owner_id)
        known = sa.and_(version.name == name, version.physical_id.is_(None))
    wanted = sa.select(version.name).join(t.nodes, rows.stands_for()).where(
        version.stack_id == owner_id, known, node.kind != NodeKind.CLEANUP)
    return connection.execute(wanted).scalars().first()


def failed(connection: sa.Connection, watch: Watch) -> list[Need]:
    """Return the resources of the last repair if it failed. They may show no drift: later steps may never have begun."""
    if watch.repair_id is None:
        return []
    outer, _ = root(connection, watch.stack_id)
    operation = t.operations.c
    began = connection.execute(
        sa.select(operation.created_at).join(t.stacks, _STACK.operation_id == operation.id)
        .where(_STACK.id == outer, _STACK.status == Status.FAILED, operation.id == watch.repair_id)).scalar()
    return [] if began is None else _begun(connection, watch.stack_id, began)


def _begun(connection: sa.Connection, stack_id: str, at: float) -> list[Need]:
    """Return the resources whose last repair began at this time."""
    node, version, opened = t.nodes.c, t.resources.c, sealing.of(connection).open
    found = connection.execute(
        sa.select(t.repairs.c.name, version.id, version.type, version.physical_id, version.metadata, version.external)
        .join(t.nodes, sa.and_(node.stack_id == t.repairs.c.stack_id, node.name == t.repairs.c.name))
        .join(t.resources, version.id == node.resource_id)
        .where(t.repairs.c.stack_id == stack_id, t.repairs.c.last_at == at, version.superseded == sa.false()))
    return [Need(row.name, row.type, row.physical_id, opened(row.metadata, "metadata", row.id, stack_id),
                 bool(row.external)) for row in found]


def _has_suspended(connection: sa.Connection, stack_id: str) -> bool:
    """Return whether the stack has a suspended resource, which a repair would resume.

    Suspended resources that are about to be deleted do not count.
    """
    node, resource = t.nodes.c, t.resources.c
    suspended = sa.exists().where(resource.stack_id == stack_id, resource.suspended == sa.true(), rows.stands_for(),
                                node.kind != NodeKind.CLEANUP)
    return bool(connection.execute(sa.select(suspended)).scalar())
