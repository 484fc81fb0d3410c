"""Collects what a unit of work writes to the history, for processes that log and count it once it is committed.

Without `collected` around a unit, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
import sqlalchemy as sa

from isotherm.states import Action
from isotherm.store.records import Event

_KEY = "isotherm.committed"


class SupersededOperation(msgspec.Struct, frozen=True, gc=False):
    """An operation that a newer one has superseded. It has no event of its own end."""

    stack_id: str
    operation_id: str
    action: Action


class Changes(msgspec.Struct):
    """The additions of one unit of work to the history of stacks."""

    events: list[Event] = []
    superseded: list[SupersededOperation] = []


@contextmanager
def collected(connection: sa.Connection, changes: Changes) -> Iterator[None]:
    """Add what is written meanwhile to `changes`."""
    connection.info[_KEY] = changes
    try:
        yield
    finally:
        del connection.info[_KEY]


def add_events(connection: sa.Connection, events: Iterable[Event]) -> None:
    changes: Changes | None = connection.info.get(_KEY)
    if changes is not None:
        changes.events.extend(events)


def add_superseded(connection: sa.Connection, operation: SupersededOperation) -> None:
    changes: Changes | None = connection.info.get(_KEY)
    if changes is not None:
        changes.superseded.append(operation)
