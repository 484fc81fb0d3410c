"""Readers: resources that read outputs of another stack. A stack with readers leaves only if the request forces it."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm import errors
from isotherm.states import OUTPUTS_OF
from isotherm.store import limits, rows
from isotherm.store import tables as t
from isotherm.store.records import Operation
from isotherm.store.transitions import versions
from isotherm.store.watch import schedule

KIND = "OutputsInUse"
# Readers that an error names.
_NAMED = 5

_VERSION, _STACK = t.resources.c, t.stacks.c
_READERS = (
    sa.select(_STACK.id, _STACK.name.label("stack"), _VERSION.name)
    .join(t.stacks, _STACK.id == _VERSION.stack_id)
    .where(rows.among(_VERSION.physical_id), _STACK.project == sa.bindparam("project"), _STACK.tomb == "",
           _VERSION.superseded == sa.false(), versions.holds_object())
    .order_by(_STACK.name, _VERSION.name)
)
_OUTSIDE = _READERS.where(_STACK.id.not_in(sa.bindparam("tree", expanding=True))).limit(_NAMED)


def refuse_leaving(connection: sa.Connection, project: str, stack_id: str, command: str) -> None:
    """Raise Conflict if a stack outside of this one and those nested in it reads outputs of them.

    `command`: the one by which the stack leaves, for the hint.
    """
    tree = connection.execute(sa.select(limits.tree(stack_id).c.id)).scalars().all()
    names = rows.ids(one + OUTPUTS_OF for one in tree)
    found = connection.execute(_OUTSIDE, {**names, "project": project, "tree": tree}).all()
    if found:
        readers = ", ".join(f"{one.name} of stack {one.stack}" for one in found)
        raise errors.Conflict(f"Outputs of the stack are read by {readers}.", kind=KIND,
                              hint=f"Delete the readers first, or force it: `isotherm {command} --force`.")


def hint(connection: sa.Connection, operation: Operation, now: float) -> None:
    """Have the readers of a stack observed at once: the operation may have changed its outputs."""
    parameters = {**rows.ids([operation.stack_id + OUTPUTS_OF]), "project": operation.project}
    names: dict[str, list[str]] = {}
    for stack_id, _, name in connection.execute(_READERS, parameters):
        names.setdefault(stack_id, []).append(name)
    for stack_id, some in names.items():
        schedule.hint(connection, stack_id, some, now)
