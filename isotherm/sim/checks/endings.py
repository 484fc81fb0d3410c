"""I2, I11, I14, I17: an operation ends once, with a reason and no secrets, and COMPLETE means that reality is as wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from isotherm.sim.checks import reality
from isotherm.sim.checks.drift import DriftLog
from isotherm.sim.checks.evidence import Evidence, superseded_objects
from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.checks.originals import Originals
from isotherm.sim.checks.suspension import Suspension
from isotherm.sim.histories import shapes
from isotherm.states import VISITING, Action, Status

_LOOK_FOR = re.compile(r"Look for an object named (\S+) and delete it")


class Endings:
    """Checks the events that a unit of work has added."""

    def __init__(
        self, evidence: Evidence, drifts: DriftLog, suspension: Suspension, originals: Originals,
        note: Callable[[str], None],
    ) -> None:
        self._evidence = evidence
        self._drifts = drifts
        self._suspension = suspension
        self._originals = originals
        self._note = note
        self._last_event = 0
        # How often a user was asked to look for an object that the engine may have made and cannot find.
        self.lost = 0

    def read(self) -> Iterator[tuple[Operation, str]]:
        """Read the new events; yield each operation that ended, with its status."""
        for event in self._evidence.database.read_table("events", self._last_event):
            self._last_event = event.id
            if shapes.SECRET in event.reason:
                self._evidence.broken("I17", f"an event shows a secret: {event.reason}")
            if event.name and (named := _LOOK_FOR.search(event.reason)):
                self.lost += 1
                self._evidence.cloud.clear_away(named[1])
            if event.name or event.status == Status.IN_PROGRESS:
                continue
            yield from self._ended(event)

    def _ended(self, event: Any) -> Iterator[tuple[Operation, str]]:
        status = Status(event.status).name
        operation = self._evidence.operations.ended(event.operation_id, status)
        self._note(f"{operation.action.name}_{status} of {operation.stack}: {event.reason}")
        yield operation, status
        if len(operation.endings) > 1:
            self._evidence.broken("I11", f"{operation.action.name} of {operation.stack} ended twice: {operation.endings}")
        if status == "FAILED" and not event.reason:
            self._evidence.broken("I14", f"{operation.action.name} of {operation.stack} failed without a reason")
        if status == "COMPLETE":
            self._check_complete(operation)

    def _check_complete(self, operation: Operation) -> None:
        turned = operation.action in (Action.SUSPEND, Action.RESUME) and not operation.inside
        if turned and not self._drifts.unresolved:
            self._suspension.check_complete(
                operation.stack_id, operation.stack, suspended=operation.action is Action.SUSPEND)
        if self._drifts.resolves(operation):
            self._compare(operation)
            self._drifts.resolve(operation)
        if operation.action in VISITING or operation.inside:
            return
        self._originals.complete(operation, superseded_objects(self._evidence.database, operation.stack_id))
        if not self._drifts.unresolved:
            self._compare(operation)

    def _compare(self, operation: Operation) -> None:
        compare = reality.Comparison(self._evidence.database, self._evidence.cloud, self._evidence.broken)
        compare(operation.stack_id, operation.stack, operation.shape, slack=operation.slack)
