"""Reports what this process commits to the history of stacks: to the log, and to the metrics of a service."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from isotherm.states import Action, Status
from isotherm.store.database import committed
from isotherm.store.database.committed import Changes
from isotherm.store.database.writer import Connection, Store, Unit
from isotherm.store.records import Event

log = logging.getLogger(__name__)
T = TypeVar("T")
Listener = Callable[[Changes], None]


class ReportingStore:
    """A store that calls its listeners after each committed unit that has added to the history."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.listeners: list[Listener] = []

    async def write(self, unit: Unit[T]) -> T:
        if not self.listeners:
            return await self._store.write(unit)
        changes = Changes()

        def reported(connection: Connection) -> T:
            # A unit may run more than once before its transaction is committed.
            changes.events.clear()
            changes.superseded.clear()
            with committed.collected(connection, changes):
                return unit(connection)

        answer = await self._store.write(reported)
        for listener in self.listeners:
            listener(changes)
        return answer

    async def read(self, unit: Unit[T]) -> T:
        return await self._store.read(unit)


def is_of_stack(event: Event) -> bool:
    """Return whether the event is one of a stack itself: its operation has begun or ended."""
    return not event.name


def is_end_of_step(event: Event) -> bool:
    """Return whether the event is the end of an action on a resource."""
    return bool(event.name) and event.status is not Status.IN_PROGRESS and event.action is not Action.OBSERVE


def log_changes(changes: Changes) -> None:
    """Log each operation that has begun or ended, and each resource that has failed. Reasons carry no secrets (I17)."""
    for one in changes.superseded:
        log.info("operation ended", extra={"stack": one.stack_id, "operation": one.operation_id, "action": one.action.name,
                                           "end": "SUPERSEDED"})
    for event in changes.events:
        if is_of_stack(event):
            _log_operation(event)
        elif is_end_of_step(event) and event.status is Status.FAILED:
            log.warning("resource failed", extra={**_keys(event), "resource": event.name, "type": event.type,
                                                  "physical_id": event.physical_id, "reason": event.reason})


def _log_operation(event: Event) -> None:
    if event.status is Status.IN_PROGRESS:
        log.info("operation begun", extra=_keys(event))
        return
    failed = {"reason": event.reason} if event.status is Status.FAILED else {}
    log.info("operation ended", extra={**_keys(event), "end": event.status.name, **failed})


def _keys(event: Event) -> dict[str, str]:
    return {"stack": event.stack_id, "operation": event.operation_id, "action": event.action.name}
