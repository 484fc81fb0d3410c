"""The path from a root stack to a nested stack, with the parent resources."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store import tables as t
from isotherm.store.reads import resource_list
from isotherm.store.watch import inherited

_STACK = t.stacks.c


def stack_path(connection: sa.Connection, stack_id: str) -> list[tuple[str, str, str | None]]:
    """Return id, name and parent resource of each stack from the root stack to this one."""
    found: list[tuple[str, str, str | None]] = []
    at: str | None = stack_id
    while at is not None:
        row = connection.execute(sa.select(_STACK.name, _STACK.owner_id).where(_STACK.id == at)).first()
        if row is None:
            break
        parent = None if row.owner_id is None else (
            resource_list.parent_resource(connection, at, row.owner_id)
            or inherited.interrupted_parent(connection, at, row.owner_id))
        found.append((at, row.name, parent))
        at = row.owner_id
    return found[::-1]
