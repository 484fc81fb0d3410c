"""Which operation mends a stack: one on the outermost stack around it, for the way that leads to what has drifted."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, Status
from isotherm.store import listing_resources
from isotherm.store import tables as t
from isotherm.store.watch import Watch, root
from isotherm.store.watch_tables import watches

_STACK = t.stacks.c


class Goal(msgspec.Struct, frozen=True, gc=False):
    """The stack that is brought back to what it should be, as it was when that was decided, and what of it."""

    stack_id: str
    generation: int
    names: tuple[str, ...]


def of(connection: sa.Connection, watch: Watch, names: Collection[str]) -> Goal | None:
    """None: not now. An operation is under way, or what a user wanted last has failed, and he has to say how it goes on."""
    outer, way = root(connection, watch.stack_id)
    found = connection.execute(
        sa.select(_STACK.generation, _STACK.status, _STACK.action, _STACK.operation_id, _STACK.tomb, watches.c.repair_id)
        .outerjoin(watches, watches.c.stack_id == _STACK.id).where(_STACK.id == outer)
    ).one_or_none()
    if found is None or found.tomb or found.action in (Action.SUSPEND, Action.DELETE):
        return None
    ours = found.operation_id == found.repair_id or found.action == Action.CHECK
    if found.status == Status.IN_PROGRESS or (found.status == Status.FAILED and not ours):
        return None
    if outer == watch.stack_id:
        return Goal(outer, found.generation, tuple(names))
    name = listing_resources.resource_around(connection, way[-1], outer)
    return None if name is None else Goal(outer, found.generation, (name,))
