"""I2, I19 in the idle state: drift is recorded, and repaired or given up as the policies say."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from isotherm.sim.checks import reality
from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.checks.observers.policies import locations, top, with_owners
from isotherm.sim.checks.observers.safety import INACTIVE, ObserverChecks
from isotherm.states import Action, NodeKind, Status


@dataclass(frozen=True, slots=True)
class _Name:
    stack_id: str
    name: str


class ObserverProblems:
    """Finds what observers have missed after they had the time to look at everything and to repair it."""

    def __init__(self, evidence: Evidence, checks: ObserverChecks, limit: int) -> None:
        self._evidence = evidence
        self._checks = checks
        self._policies = checks.policies
        self._limit = limit

    def find(self) -> list[str]:
        database = self._evidence.database
        stacks = {row.id: row for row in database.read_table("stacks") if not row.tomb}
        observed = {row.resource_id: row for row in database.read_table("observations")}
        tripped = {(row.stack_id, row.name) for row in database.read_table("repairs") if row.tripped_at is not None}
        wanted = self._wanted(stacks)
        rows = [row for row in wanted
                if row.implementation.startswith("Sim::") and row.physical_id is not None and not row.external]
        found, drifted = list(self._tripped_early(tripped, stacks)), set()
        # A resource without an object, as OS::Heat::None or a nested stack, can be suspended too.
        inactive = {top(row, stacks)[0] for row in wanted if row.suspended}
        inactive |= {stack.id for stack in stacks.values() if stack.action in INACTIVE}
        for row in rows:
            difference = self._difference(row)
            if difference:
                drifted.add(top(row, stacks)[0])
            found += self._record_problems(row, difference, observed.get(row.id), stacks)
            active = top(row, stacks)[0] not in inactive
            given_up = (row.stack_id, row.name) in tripped
            if difference and active and not given_up and self._policies.is_to_repair(row, stacks):
                found += self._unrepaired(row, difference, stacks)
        for stack in stacks.values():
            if stack.owner_id is None and stack.id not in inactive:
                found += self._unrepeated(stack, tripped, wanted, stacks)
                if stack.id not in drifted and self._checks.sound.get(stack.id):
                    found += self._differences(stack)
        return found

    def _wanted(self, stacks: dict[str, Any]) -> list[Any]:
        """Return the versions that are not to be deleted, alone or with an outer stack."""
        database = self._evidence.database
        # A failed check leaves a VISIT node; its resource is wanted all the same.
        nodes = [node for node in database.read_table("nodes") if node.kind in (NodeKind.UPDATE, NodeKind.VISIT)]
        held, wanted = {node.resource_id for node in nodes}, {(node.stack_id, node.name) for node in nodes}
        return [row for row in database.read_table("resources") if row.id in held and row.stack_id in stacks
                and wanted.issuperset(locations(row, stacks))]

    def _differences(self, stack: Any) -> list[str]:
        found: list[str] = []
        compare = reality.Comparison(self._evidence.database, self._evidence.cloud, lambda _, text: found.append(text))
        operations = self._evidence.operations
        compare(stack.id, stack.name, operations.wanted[stack.id], slack=operations.newest[stack.id].slack)
        return found

    def _difference(self, row: Any) -> str:
        """Describe how the object differs from what the engine made; empty if it does not."""
        thing = self._evidence.cloud.things.get(row.physical_id)
        if thing is None:
            return "is gone"
        return f"has drifted in {', '.join(thing.drifted)}" if thing.drifted else ""

    def _record_problems(self, row: Any, difference: str, observation: Any, stacks: dict[str, Any]) -> Iterator[str]:
        """Yield drift that is not on record, and recorded drift that is not there."""
        inactive = any(stacks[id_].action in INACTIVE for id_ in with_owners(row.stack_id, stacks))
        if inactive or row.suspended or row.status != Status.COMPLETE:
            return
        if self._policies.mode(row.stack_id, stacks) == "paused" or self._policies.policy(row, stacks) == "ignore":
            return
        known = observation is not None and observation.drifted_since is not None
        if difference and not known:
            yield f"{row.physical_id} {difference}, and no observation says so"
        elif known and not difference:
            yield f"{row.physical_id} is recorded as drifted, and has not drifted"

    def _unrepaired(self, row: Any, difference: str, stacks: dict[str, Any]) -> Iterator[str]:
        root_id, name = top(row, stacks)
        if name not in self._evidence.operations.wanted[root_id]:
            return  # its deletion was called off, and no newer template wants it
        newest = self._evidence.operations.newest[root_id]
        repaired = newest.id in self._checks.repairs or newest.action is Action.CHECK
        if newest.endings == ["COMPLETE"] or repaired:
            yield f"{row.physical_id} {difference}, and is not repaired"

    def _unrepeated(
        self, stack: Any, tripped: Collection[tuple[str, str]], rows: list[Any], stacks: dict[str, Any]
    ) -> Iterator[str]:
        """Yield a failed repair that is neither tried again nor given up."""
        newest = self._evidence.operations.newest[stack.id]
        repair = self._checks.repairs.get(newest.id)
        if repair is None or newest.endings == ["COMPLETE"]:
            return
        left = [row for row in rows if top(row, stacks)[0] == stack.id and top(row, stacks)[1] in repair.roots]
        if not any((row.stack_id, row.name) in tripped or not self._policies.is_to_repair(row, stacks) for row in left):
            yield f"a repair of {stack.name} has failed, and is not tried again"

    def _tripped_early(self, tripped: Collection[tuple[str, str]], stacks: dict[str, Any]) -> Iterator[str]:
        for stack_id, name in tripped:
            root = top(_Name(stack_id, name), stacks) if stack_id in stacks else ("", "")
            if root[0] and self._checks.rounds[root] < self._limit:
                yield f"{name} of {stacks[stack_id].name} was given up after {self._checks.rounds[root]} repairs"
