"""I19: observers never change the cloud, request repairs only where the policy says so, and keep to their budget.

A repair touches the drifted resources and their dependants, by an ordinary operation; a fight is given up. The checks of
the idle state are in `observers_idle`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm.sim.checks.evidence import Evidence, kept_objects, superseded_objects
from isotherm.sim.checks.observers.policies import WatchPolicies, top, with_owners
from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.checks.protection import Protections
from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import Request, Verb, Watched
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import RECORD, Thing
from isotherm.states import VISITING, Action, NodeKind

# An observer may spend at once the calls that it left unused for this long.
BURST_S = 0.11
INACTIVE = (Action.SUSPEND, Action.DELETE)


def is_observer(by: processes.Process | None) -> bool:
    return by is not None and by.killable and by.name.startswith("o")


@dataclass(frozen=True, slots=True)
class Repair:
    """An operation that an observer has requested: the resources it starts with, and all that it may touch."""

    roots: tuple[str, ...]
    reach: frozenset[str]
    # The objects and nested stacks that are not wanted, and may go when these have moved on.
    kept: frozenset[str]
    # Whether everything but the drift was known to be as the template says.
    sound: bool


class ObserverChecks:
    """Checks the observers of one run."""

    def __init__(self, evidence: Evidence, watched: Watched, protections: Protections) -> None:
        self._evidence = evidence
        self._watched = watched
        self.policies = WatchPolicies(evidence, watched.policy, protections)
        # By stack: whether its last operation, checks aside, was complete.
        self.sound: dict[str, bool] = {}
        # Stacks whose last operation, without those that only visit resources, was a deletion.
        self._unwanted: set[str] = set()
        self.repairs: dict[str, Repair] = {}
        # By stack and resource: number of repairs requested since a client last set a policy.
        self.rounds: Counter[tuple[str, str]] = Counter()
        # By names of a stack and a resource: the tick of its unrepaired drift.
        self._drifts: dict[tuple[str, str], int] = {}
        self._ever: set[tuple[str, str]] = set()
        # As `rounds`: by stack, and of sound repairs only.
        self._requested: Counter[str] = Counter()
        self._sound_rounds: Counter[tuple[str, str]] = Counter()
        # By observer, type and share: when the next call may be made.
        self._free_at: dict[tuple[str, str, int], float] = {}
        # The time at which the observers know of each other and share the budget.
        self.together_at = float("inf")

    def set_policy(self, request: Request, stack_id: str) -> None:
        """Record a policy or mode that a client has set; repairs that were given up may start again."""
        if self.policies.set(request, stack_id):
            return
        self._requested[stack_id] = 0
        for key in [key for key in self.rounds if key[0] == stack_id]:
            if request.verb is not Verb.OVERRIDE or key[1] == request.resource:
                self.rounds[key] = self._sound_rounds[key] = 0

    # Operations.

    def accepted(self, operation: Operation, previous: Operation | None, by: processes.Process | None) -> None:
        if operation.inside:
            return
        if is_observer(by):
            self._check_repair(operation, previous)
        if operation.action not in VISITING:
            self.sound[operation.stack_id] = False
            self._unwanted.discard(operation.stack_id)
        if operation.action is Action.DELETE:
            self._unwanted.add(operation.stack_id)

    def _check_repair(self, operation: Operation, previous: Operation | None) -> None:
        name, broken = operation.stack, self._evidence.broken
        if previous is None or not previous.endings:
            broken("I19", f"a repair of {name} was accepted while an operation was under way")
        elif previous.action in INACTIVE or operation.action is not Action.UPDATE:
            broken("I19", f"an observer requested {operation.action.name} of {name} after {previous.action.name}")
        elif operation.stack_id in self._unwanted:
            broken("I19", f"a repair of {name} undoes its deletion")
        elif suspended := self._suspended(operation.stack_id):
            broken("I19", f"a repair of {name} was accepted while {suspended} is suspended")
        roots = tuple(node.name for node in self._evidence.database.read_table("nodes")
                      if node.stack_id == operation.stack_id
                      and node.generation == operation.generation and node.kind == NodeKind.UPDATE and node.outdated)
        sound = self.sound.get(operation.stack_id, False)
        reach = _with_dependants(operation.shape, roots)
        kept = kept_objects(self._evidence.database, self._evidence.cloud, operation.stack_id,
                            shapes.living(operation.shape), reach.__contains__)
        if operation.slack is not None:
            # Limited updates let older versions of what they leave out stay. The repair deletes those without users (I7).
            kept |= superseded_objects(self._evidence.database, operation.stack_id)
        self.repairs[operation.id] = Repair(roots, reach, frozenset(kept), sound)
        self._requested[operation.stack_id] += 1
        for root in roots:
            self.rounds[operation.stack_id, root] += 1
            if sound:
                self._sound_rounds[operation.stack_id, root] += 1
                self._check_root(operation, root)
        names = {key for key, rounds in self.rounds.items() if key[0] == operation.stack_id and rounds}
        names |= {key for key in self._ever if key[0].partition("-")[0] == name}
        if self._requested[operation.stack_id] > self._watched.limit * len(names):
            broken("I19", f"{self._requested[operation.stack_id]} repairs of {name}, and no end")

    def _suspended(self, stack_id: str) -> str:
        """Return the name of a suspended resource that is not to be deleted; empty if there is none."""
        database = self._evidence.database
        wanted = {node.resource_id for node in database.read_table("nodes")
                  if node.stack_id == stack_id and node.kind != NodeKind.CLEANUP and not node.awaits_cleanup}
        return next((row.name for row in database.read_table("resources") if row.suspended and row.id in wanted), "")

    def _check_root(self, operation: Operation, root: str) -> None:
        """Check that the resource, or one inside its nested stack, drifted and that its policy says repair."""
        broken = self._evidence.broken
        stacks = {row.id: row for row in self._evidence.database.read_table("stacks")}
        below = [row for row in self._evidence.database.read_table("resources")
                 if top(row, stacks) == (operation.stack_id, root)]
        drifted = [row for row in below if (stacks[row.stack_id].name, row.name) in self._drifts]
        if not drifted:
            broken("I19", f"{root} of {operation.stack} is repaired, and has not drifted")
        elif not any(self.policies.is_to_repair(row, stacks) for row in drifted):
            row = drifted[0]
            policy, mode = self.policies.policy(row, stacks), self.policies.mode(row.stack_id, stacks)
            broken("I19", f"{root} of {operation.stack} is repaired, and its policy is {policy}, its mode {mode}")
        elif self._sound_rounds[operation.stack_id, root] > self._watched.limit * len(below):
            broken("I19", f"{root} of {operation.stack} is repaired again, instead of being given up")

    def ended(self, operation: Operation, status: str) -> None:
        if operation.inside:
            return
        if status != "COMPLETE":
            self.sound[operation.stack_id] = False
        elif operation.action not in VISITING:
            self.sound[operation.stack_id] = True
        repair = self.repairs.get(operation.id)
        if repair is not None and status == "COMPLETE":
            for key in [key for key, tick in self._drifts.items() if tick < operation.tick]:
                if any(key == (operation.stack, root) or key[0].startswith(f"{operation.stack}-{root}-")
                       for root in repair.roots):
                    del self._drifts[key]

    # The cloud.

    def drift(self, thing: Thing, tick: int) -> None:
        self._drifts[thing.stack, thing.name] = tick
        self._ever.add((thing.stack, thing.name))

    def mutation(self, verb: str, by: processes.Process | None, thing: Thing, row: Any, operation_id: str | None) -> None:
        """Check that no observer changes the cloud, and that a repair stays within its reach."""
        if is_observer(by):
            self._evidence.broken("I19", f"{verb} of {thing.id} by {by}, which is an observer")
        stacks = {one.id: one for one in self._evidence.database.read_table("stacks")}
        root_id, name = top(row, stacks)
        # A change inside a nested stack belongs to the operation of the outermost stack.
        repair = self.repairs.get(stacks[root_id].operation_id if root_id != row.stack_id else operation_id or "")
        if repair is None or not repair.sound or name in repair.reach:
            return
        let_go = verb == "delete" and not repair.kept.isdisjoint({thing.id, *with_owners(row.stack_id, stacks)})
        if not let_go:
            self._evidence.broken("I19", f"{verb} of {thing.id}, in a repair of {', '.join(repair.roots)}")

    def look(self, by: processes.Process | None, kind: str, ids: Sequence[str]) -> None:
        """Check that the calls of an observer stay within its share of the budget."""
        now = self._evidence.clock()
        if kind == RECORD and len(ids) == 1:
            return  # the proof that an object is gone, which a list lacks
        # An observer that was paused resumes with all its planned calls due at once.
        if by is None or not is_observer(by) or not self._watched.rate or now <= by.since:
            return
        shares = self._watched.observers if now > self.together_at else 1
        key, rate = (by.name, kind, shares), self._watched.rate / shares
        begin = max(self._free_at.get(key, 0.0), now - BURST_S)
        if begin > now + 0.01:
            self._evidence.broken("I19", f"{by} looks at {kind} more than {rate:g} times in a second")
        self._free_at[key] = begin + 1.0 / rate


def _with_dependants(shape: Shape, roots: Collection[str]) -> frozenset[str]:
    found = set(roots)
    while True:
        more = {name for name, part in shape.items() if part.requires & found} - found
        if not more:
            return frozenset(found)
        found |= more
