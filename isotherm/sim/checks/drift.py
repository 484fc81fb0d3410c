"""I16, I19: observations are in order and true, and an operation that observes reality resolves all earlier drift."""

from __future__ import annotations

from typing import Any

from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.world.cloud import NAMED, Thing
from isotherm.states import Action, ObservationResult


class DriftLog:
    """Changes that the cloud made behind the engine's back. Until they are resolved, reality is not compared."""

    def __init__(self) -> None:
        self.unresolved = False
        # Whether a stack was adopted whose update had not ended: its objects are adopted as they are.
        self.adopted_unfinished = False
        # By stack of a client: the tick of its last drift.
        self._ticks: dict[str, int] = {}

    def record(self, thing: Thing, tick: int) -> None:
        self.unresolved = True
        self._ticks[thing.stack.partition("-")[0]] = tick

    def adopt_unfinished(self, stack: str, tick: int) -> None:
        """Record that an adopted stack has objects to which its template was not applied."""
        self.unresolved = self.adopted_unfinished = True
        self._ticks[stack] = tick

    def resolves(self, operation: Operation) -> bool:
        """Return whether the completed operation had to find all drift of its stack. A limited one finds only its own."""
        if operation.slack is not None and operation.action is not Action.ROLLBACK:
            return False
        return bool(self._ticks) and operation.looks and not operation.inside and self._ticks.get(
            operation.stack, 0) < operation.tick

    def resolve(self, operation: Operation) -> None:
        self._ticks.pop(operation.stack, None)
        self.unresolved = bool(self._ticks)


class Observations:
    """Checks the stored observations after each unit of work."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # By resource: the time of the stored observation.
        self._times: dict[int, float] = {}

    def check(self, resources: dict[int, Any]) -> None:
        """I19: an older observation never overwrites a newer one, and no existing object is recorded as gone."""
        broken = self._evidence.broken
        for row in self._evidence.database.read_table("observations"):
            if row.seen_at < self._times.get(row.resource_id, 0.0):
                broken("I19", f"an older observation of #{row.resource_id} has overwritten a newer one")
            self._times[row.resource_id] = row.seen_at
            known = resources.get(row.resource_id)
            if known is None:
                broken("I16", f"the observation of #{row.resource_id} is kept, and its row is gone")
            elif row.result == ObservationResult.GONE and self._exists(known):
                broken("I19", f"{known.physical_id} is recorded as gone, and exists")

    def _exists(self, row: Any) -> bool:
        """Return whether the object of this version exists; another version may have made one under the same id."""
        thing = self._evidence.cloud.things.get(row.physical_id or "")
        return thing is not None and (thing.kind != NAMED or thing.token == row.token)
