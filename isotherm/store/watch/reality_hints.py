"""Units of work that take hints about reality from other services: they make stacks or resources due."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from isotherm.store import rows
from isotherm.store import tables as t
from isotherm.store.watch import schedule as watching

_STACK, _SEEN, _VERSION = t.stacks.c, t.observations.c, t.resources.c


class Hint(msgspec.Struct, frozen=True, gc=False):
    """A hint: a stack by id or name, some of its resources, and objects by physical id, in that stack or in any."""

    stack: str = ""
    project: str = ""
    resources: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


def take(connection: sa.Connection, hints: Sequence[Hint], now: float) -> list[str]:
    """Make the stacks and resources of the hints due, if they are known. Return the ids of the stacks."""
    known = _stacks(connection, {one.stack for one in hints if one.stack})
    owners = _owners(connection, {id_ for one in hints for id_ in one.objects})
    # By stack: the resources to observe; None: all.
    due: dict[str, set[str] | None] = {}
    for one in hints:
        stacks = [row[0] for row in known if one.stack in row[:2] and one.project in ("", row[2])]
        found = [owner for id_ in one.objects for owner in owners.get(id_, ()) if not one.stack or owner[0] in stacks]
        for stack_id, name in found:
            _add(due, stack_id, [name])
        for stack_id in stacks:
            if one.resources or not found:
                _add(due, stack_id, one.resources or None)
    for stack_id, names in due.items():
        watching.hint(connection, stack_id, None if names is None else sorted(names), now)
    return list(due)


def _add(due: dict[str, set[str] | None], stack_id: str, names: Sequence[str] | None) -> None:
    known = due.setdefault(stack_id, set())
    if names is None or known is None:
        due[stack_id] = None
    else:
        known.update(names)


def _stacks(connection: sa.Connection, names: set[str]) -> list[tuple[str, str, str]]:
    """Return id, name and project of the stacks with these ids or names that are not deleted."""
    if not names:
        return []
    columns = sa.select(_STACK.id, _STACK.name, _STACK.project).where(_STACK.tomb == "")
    by_id = connection.execute(columns.where(rows.among(_STACK.id)), rows.ids(names)).all()
    by_name = connection.execute(columns.where(rows.among(_STACK.name)), rows.ids(names)).all()
    return [(row[0], row[1], row[2]) for row in {row[0]: row for row in (*by_id, *by_name)}.values()]


def _owners(connection: sa.Connection, objects: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return, by physical id, the stacks and resources whose observation has it."""
    found: dict[str, list[tuple[str, str]]] = {}
    if objects:
        query = (
            sa.select(_SEEN.physical_id, _VERSION.stack_id, _VERSION.name)
            .join(t.resources, _VERSION.id == _SEEN.resource_id)
            .join(t.stacks, sa.and_(_STACK.id == _VERSION.stack_id, _STACK.tomb == ""))
            .where(rows.among(_SEEN.physical_id), _VERSION.superseded == sa.false())
        )
        for id_, stack_id, name in connection.execute(query, rows.ids(objects)):
            found.setdefault(id_, []).append((stack_id, name))
    return found
