"""Which operation mends a stack: one on the outermost stack around it, for the way that leads to what has drifted."""

from __future__ import annotations

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
    """A resource that is to be repaired, and what its template says of that."""

    name: str
    type: str
    physical_id: str | None
    metadata: str
    external: bool = False


class Goal(msgspec.Struct, frozen=True, gc=False):
    """The stack that is brought back to what it should be, as it was when that was decided, and what of it."""

    stack_id: str
    generation: int
    names: tuple[str, ...]


def of(connection: sa.Connection, watch: Watch, names: Collection[str]) -> Goal | None:
    """None: not now. An operation is under way, the stack is at rest, or what a user wanted last has failed, and he has to
    say how it goes on."""
    outer, way = root(connection, watch.stack_id)
    found = connection.execute(
        sa.select(_STACK.generation, _STACK.status, _STACK.action, _STACK.operation_id, _STACK.tomb, t.watches.c.repair_id)
        .outerjoin(t.watches, t.watches.c.stack_id == _STACK.id).where(_STACK.id == outer)
    ).one_or_none()
    if found is None or found.tomb or found.action in (Action.SUSPEND, Action.DELETE) or _rests(connection, outer):
        return None
    ours = found.operation_id == found.repair_id or found.action == Action.CHECK
    if found.status == Status.IN_PROGRESS or (found.status == Status.FAILED and not ours):
        return None
    if outer == watch.stack_id:
        return Goal(outer, found.generation, tuple(names))
    name = resource_list.resource_around(connection, way[-1], outer) or inherited.name_inside(connection, way[-1], outer)
    return None if name is None else Goal(outer, found.generation, (name,))


def failed(connection: sa.Connection, watch: Watch) -> list[Need]:
    """What the last repair was for, where it has failed. It need not show: what was to follow it may never have begun."""
    if watch.repair_id is None:
        return []
    outer, _ = root(connection, watch.stack_id)
    operation = t.operations.c
    began = connection.execute(
        sa.select(operation.created_at).join(t.stacks, _STACK.operation_id == operation.id)
        .where(_STACK.id == outer, _STACK.status == Status.FAILED, operation.id == watch.repair_id)).scalar()
    return [] if began is None else _begun(connection, watch.stack_id, began)


def _begun(connection: sa.Connection, stack_id: str, at: float) -> list[Need]:
    """What was repaired last at this moment."""
    node, version, opened = t.nodes.c, t.resources.c, sealing.of(connection).open
    found = connection.execute(
        sa.select(t.repairs.c.name, version.id, version.type, version.physical_id, version.metadata, version.external)
        .join(t.nodes, sa.and_(node.stack_id == t.repairs.c.stack_id, node.name == t.repairs.c.name))
        .join(t.resources, version.id == node.resource_id)
        .where(t.repairs.c.stack_id == stack_id, t.repairs.c.last_at == at, version.superseded == sa.false()))
    return [Need(row.name, row.type, row.physical_id, opened(row.metadata, "metadata", row.id, stack_id),
                 bool(row.external)) for row in found]


def _rests(connection: sa.Connection, stack_id: str) -> bool:
    """Whether anything of it was put to rest, whatever was done after that: whoever repairs it would wake it.

    What is to be deleted rests until then, and nobody minds.
    """
    node, resource = t.nodes.c, t.resources.c
    resting = sa.exists().where(resource.stack_id == stack_id, resource.suspended == sa.true(), rows.stands_for(),
                                node.kind != NodeKind.CLEANUP)
    return bool(connection.execute(sa.select(resting)).scalar())
