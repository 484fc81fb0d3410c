"""The witness: shows every unit of work and call to the cloud to the checks, and collects violations.

Reality is the cloud's own, and the desired state comes from the clients' shapes; the engine's tables are read only for
what they claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isotherm.sim.checks import originals, reality
from isotherm.sim.checks.acceptance import Acceptance, RequestLog
from isotherm.sim.checks.drift import DriftLog, Observations
from isotherm.sim.checks.endings import Endings
from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.checks.moves import Moves
from isotherm.sim.checks.mutations import Mutations
from isotherm.sim.checks.observers.safety import ObserverChecks
from isotherm.sim.checks.operation_log import OperationLog
from isotherm.sim.checks.ownership import Ownership
from isotherm.sim.checks.progress import Progress
from isotherm.sim.checks.protection import Protections
from isotherm.sim.checks.suspension import Suspension
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import Cloud, Thing
from isotherm.store.memory import MemoryDatabase

_REFUSALS = {"in use": "I7", "a token was used twice": "I1"}


class Witness:
    """Sees everything of one run."""

    # The checks that depend on how work is scheduled.
    progress_check: type[Progress] = Progress
    mutation_check: type[Mutations] = Mutations

    def __init__(
        self, database: MemoryDatabase, cloud: Cloud, clock: Callable[[], float], note: Callable[[str], None]
    ) -> None:
        self._database = database
        self._note = note
        self.violations: list[str] = []
        self.operations = OperationLog()
        self.requests = RequestLog()
        self.drifts = DriftLog()
        self.evidence = Evidence(database, cloud, clock, self.operations, self.broken)
        suspension = Suspension(self.evidence)
        self._originals = originals.Originals(cloud, self.broken)
        self._moves = Moves(self.evidence, self._originals)
        self._acceptance = Acceptance(self.evidence, self.requests, self._moves, note)
        self._progress = self.progress_check(self.evidence)
        self._ownership = Ownership(self.evidence)
        self.protections = Protections(self.evidence)
        self._mutations = self.mutation_check(self.evidence, self.drifts, suspension)
        self._observations = Observations(self.evidence)
        self._endings = Endings(self.evidence, self.drifts, suspension, self._originals, note)
        # Present where the history has observers.
        self.observer_checks: ObserverChecks | None = None
        # Called for every new wait condition, with the stack and the name of its handle.
        self.on_wait: Callable[[str, str], None] = lambda stack_id, handle: None
        self._waiting: set[int] = set()

    @property
    def lost(self) -> int:
        """Number of objects that users were asked to look for."""
        return self._endings.lost

    def broken(self, invariant: str, what: str) -> None:
        if not self.violations:
            self._note(f"BROKEN {invariant}: {what}")
        self.violations.append(f"{invariant}: {what}")

    def living_stacks(self) -> list[Any]:
        return self.evidence.living_stacks()

    def ran(self, by: processes.Process | None) -> None:
        """Check a unit of this process that has run and will be committed.

        Units that are committed together are checked one by one: one may undo what another has done.
        """
        watch, requests = self.observer_checks, self.requests
        if watch is not None and by is not None and by.name in requests.watched_stacks:
            watch.set_policy(requests.requests[by.name], requests.watched_stacks[by.name])
        if by is not None and by.name in requests.protected:
            self.protections.asked(requests.requests[by.name], *requests.protected[by.name])
        # Before the acceptance: a unit may retain an object and accept an operation with another policy.
        doubtful = self._ownership.release_retained()
        for operation, previous in self._acceptance.accept(by):
            self.protections.check_operation(operation)
            if watch is not None:
                watch.accepted(operation, previous, by)
        self._ownership.check_retained(doubtful)
        self._check_tables()

    def _check_tables(self) -> None:
        resources = {row.id: row for row in self._database.read_table("resources")}
        nodes = self._database.read_table("nodes")
        stacks = {row.id: row for row in self._database.read_table("stacks")}
        self._report_waits(resources)
        self.protections.committed(resources)
        self._originals.read(list(resources.values()), self.operations.operations)
        for operation, status in self._endings.read():
            if self.observer_checks is not None:
                self.observer_checks.ended(operation, status)
        self._progress.check(nodes, stacks)
        self._ownership.check_owners(resources, nodes)
        self._ownership.check_requirements(resources)
        self._moves.check(resources.values())
        self._observations.check(resources)

    def _report_waits(self, resources: dict[int, Any]) -> None:
        for row in resources.values():
            if row.type == "OS::Heat::WaitCondition" and row.id not in self._waiting:
                self._waiting.add(row.id)
                self.on_wait(row.stack_id, row.name.removesuffix("wait") + "handle")

    def drift(self, thing: Thing) -> None:
        """Record that an object was changed, or removed, behind the engine's back."""
        self._originals.excuse(thing)
        tick = self._acceptance.next_tick()
        self.drifts.record(thing, tick)
        if self.observer_checks is not None:
            self.observer_checks.drift(thing, tick)

    def adopt_unfinished(self, stack: str) -> None:
        """Record that a stack is adopted whose update had not ended when it was abandoned."""
        self.drifts.adopt_unfinished(stack, self._acceptance.next_tick())

    def look(self, by: processes.Process | None, kind: str, ids: Sequence[str]) -> None:
        """Check one call that reads objects."""
        if self.observer_checks is not None:
            self.observer_checks.look(by, kind, ids)

    def mutation(self, verb: str, by: processes.Process | None, thing: Thing) -> None:
        """Check one call that changes an object."""
        if verb == "create":
            self._moves.create(thing)
        checked = self._mutations.check(verb, by, thing)
        if checked is not None:
            self.protections.check_call(verb, thing, checked[0])
        if checked is not None and self.observer_checks is not None:
            self.observer_checks.mutation(verb, by, thing, *checked)

    def wrong_order(self, what: str, thing: Thing, others: list[str]) -> None:
        """Report a call that the cloud refused because of its order."""
        self.broken(_REFUSALS.get(what, "I6"), f"{thing.id}: {what}: {', '.join(others)}")

    def compare(self, stack_id: str, stack: str, shape: Shape) -> None:
        """I2: reality equals the shape."""
        reality.Comparison(self._database, self.evidence.cloud, self.broken)(stack_id, stack, shape)
