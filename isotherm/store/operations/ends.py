"""Notes which operations on root stacks a unit of work ends, for processes that have lifecycle plug-ins.

Without `noted` around a unit, `note` does nothing and reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa

from isotherm.states import Action
from isotherm.store import tables as t
from isotherm.store.records import Operation

_KEY = "isotherm.ended_operations"
_STACK = t.stacks.c


class EndedOperation(NamedTuple):
    """An operation that a transaction has ended; `failure` is empty if it was successful."""

    project: str
    stack_id: str
    stack_name: str
    action: Action
    failure: str


@contextmanager
def noted(connection: sa.Connection, ended: list[EndedOperation]) -> Iterator[None]:
    """Add the operations that are ended meanwhile to `ended`."""
    connection.info[_KEY] = ended
    try:
        yield
    finally:
        del connection.info[_KEY]


def note(connection: sa.Connection, operation: Operation, failure: str | None) -> None:
    """Note the end of an operation, unless its stack is nested."""
    ended: list[EndedOperation] | None = connection.info.get(_KEY)
    if ended is None:
        return
    root = sa.select(_STACK.project).where(_STACK.id == operation.stack_id, _STACK.depth == 0)
    project = connection.execute(root).scalar()
    if project is not None:
        ended.append(EndedOperation(project, operation.stack_id, operation.stack_name, operation.action, failure or ""))
