"""I19: what observers may do, and what they must have done when nothing moves any more.

They never touch the cloud themselves. What they have repaired is what drifted and what depends on it, where the policy says
so at that very moment, by an operation like any other; a fight is given up; and in the end what is to be repaired is as the
newest template has it, and of the rest it is known what drifted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from isotherm.sim.checks import reality
from isotherm.sim.checks.operation_log import Ledger, Operation
from isotherm.sim.histories.history import Request, Verb, Watched
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world import processes
from isotherm.sim.world.cloud import Cloud, Thing
from isotherm.states import VISITING, Action, NodeKind, Status
from isotherm.store.memory import MemoryDatabase

MODES = ("active", "maintenance", "paused")
SAYING = (Verb.WATCH, Verb.OVERRIDE, Verb.PROJECT)
# So much of what an observer did not use of its budget may be caught up with at once.
BURST_S = 0.11
_RESTING = (Action.SUSPEND, Action.DELETE)


def is_observer(by: processes.Process | None) -> bool:
    return by is not None and by.mortal and by.name.startswith("o")


@dataclass(slots=True)
class _Said:
    """What clients have said of a stack."""

    policy: str = ""
    mode: str = "active"
    overrides: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Repair:
    """An operation that an observer has asked for: what it begins with, and all that it may touch."""

    roots: tuple[str, ...]
    reach: frozenset[str]
    # Whether everything was known to be as the template has it, but for what drifted.
    sound: bool


class Oversight:
    """Watches those who watch."""

    def __init__(
        self, database: MemoryDatabase, cloud: Cloud, clock: Callable[[], float], ledger: Ledger,
        broken: Callable[[str, str], None], watched: Watched,
    ) -> None:
        self._database = database
        self._cloud = cloud
        self._clock = clock
        self._ledger = ledger
        self._broken = broken
        self._watched = watched
        self._said: dict[str, _Said] = {}
        self._project = "active"
        # By stack: whether all of its last operations ended well.
        self._sound: dict[str, bool] = {}
        # By names of a stack and a resource: since which tick it has drifted.
        self._drifts: dict[tuple[str, str], int] = {}
        self._ever: set[tuple[str, str]] = set()
        self._repairs: dict[str, _Repair] = {}
        # By stack, and by stack and resource: how many operations were asked for since clients last said something.
        self._asked: Counter[str] = Counter()
        self._rounds: Counter[tuple[str, str]] = Counter()
        self._sure: Counter[tuple[str, str]] = Counter()
        # By observer, type and share: when the next call may be made.
        self._free_at: dict[tuple[str, str, int], float] = {}
        # From when on they know of each other.
        self.together_at = float("inf")

    # What clients say.

    def said(self, request: Request, stack_id: str) -> None:
        """A client's words have been written."""
        if request.verb is Verb.PROJECT:
            self._project = request.word
            return
        told = self._said.setdefault(stack_id, _Said())
        if request.verb is Verb.OVERRIDE:
            told.overrides[request.resource] = request.word
        elif request.word in MODES:
            told.mode = request.word
        else:
            told.policy = request.word
        # Whatever was given up may be repaired again.
        self._asked[stack_id] = 0
        for key in [key for key in self._rounds if key[0] == stack_id]:
            if request.verb is not Verb.OVERRIDE or key[1] == request.resource:
                self._rounds[key] = self._sure[key] = 0

    def _policy(self, row: Any, stacks: dict[str, Any]) -> str:
        """Of a resource: what was said of it, what its metadata say, and what was said of the stacks around it."""
        version, inner = row, ""
        for stack_id, name in self._places(row, stacks):
            if inner:
                version = next((one for one in self._database.look("resources") if one.physical_id == inner), None)
            said = self._said.get(stack_id, _Said())
            if name in said.overrides:
                return said.overrides[name]
            metadata = {} if version is None else msgspec.json.decode(version.metadata) or {}
            if "isotherm" in metadata:
                return str(metadata["isotherm"]["drift"])
            if said.policy:
                return said.policy
            inner = stack_id
        return self._watched.policy

    def _mode(self, stack_id: str, stacks: dict[str, Any]) -> str:
        modes = [self._said[id_].mode for id_ in self._around(stack_id, stacks) if id_ in self._said]
        return max([self._project, *modes], key=MODES.index)

    @staticmethod
    def _around(stack_id: str | None, stacks: dict[str, Any]) -> Iterator[str]:
        """The stack, and those around it."""
        while stack_id is not None and stack_id in stacks:
            yield stack_id
            stack_id = stacks[stack_id].owner_id

    # Operations.

    def accepted(self, operation: Operation, before: Operation | None, by: processes.Process | None) -> None:
        if operation.inside:
            return
        if is_observer(by):
            self._may_begin(operation, before)
        if operation.action not in VISITING:
            self._sound[operation.stack_id] = False

    def _may_begin(self, operation: Operation, before: Operation | None) -> None:
        name = operation.stack
        if before is None or not before.endings:
            self._broken("I19", f"a repair of {name} was accepted while an operation was under way")
        elif before.action in _RESTING or operation.action is not Action.UPDATE:
            self._broken("I19", f"an observer asked for {operation.action.name} of {name} after {before.action.name}")
        roots = tuple(node.name for node in self._database.look("nodes") if node.stack_id == operation.stack_id
                      and node.generation == operation.generation and node.kind == NodeKind.UPDATE and node.dirty)
        sound = self._sound.get(operation.stack_id, False)
        self._repairs[operation.id] = _Repair(roots, _reach(operation.shape, roots), sound)
        self._asked[operation.stack_id] += 1
        for root in roots:
            self._rounds[operation.stack_id, root] += 1
            if sound:
                # Nothing but what drifted is begun with.
                self._sure[operation.stack_id, root] += 1
                self._may_be_repaired(operation, root)
        names = {key for key, rounds in self._rounds.items() if key[0] == operation.stack_id and rounds}
        names |= {key for key in self._ever if key[0].partition("-")[0] == name}
        if self._asked[operation.stack_id] > self._watched.limit * len(names):
            self._broken("I19", f"{self._asked[operation.stack_id]} repairs of {name}, and no end")

    def _may_be_repaired(self, operation: Operation, root: str) -> None:
        """It, or something in the stack that it is, drifted; and its policy says repair."""
        stacks = {row.id: row for row in self._database.look("stacks")}
        below = [row for row in self._database.look("resources") if self._top(row, stacks) == (operation.stack_id, root)]
        drifted = [row for row in below if (stacks[row.stack_id].name, row.name) in self._drifts]
        if not drifted:
            self._broken("I19", f"{root} of {operation.stack} is repaired, and has not drifted")
        elif not any(self._is_to_repair(row, stacks) for row in drifted):
            row = drifted[0]
            self._broken("I19", f"{root} of {operation.stack} is repaired, and its policy is {self._policy(row, stacks)}, "
                                f"its mode {self._mode(row.stack_id, stacks)}")
        elif self._sure[operation.stack_id, root] > self._watched.limit * len(below):
            self._broken("I19", f"{root} of {operation.stack} is repaired again, instead of being given up")

    def _is_to_repair(self, row: Any, stacks: dict[str, Any]) -> bool:
        return self._policy(row, stacks) == "repair" and self._mode(row.stack_id, stacks) == "active" and not row.external

    @staticmethod
    def _places(row: Any, stacks: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The stack and the name of a resource, and of all that it is in, from inside out."""
        stack, name = stacks[row.stack_id], row.name
        yield stack.id, name
        while (around := stacks.get(stack.owner_id)) is not None:
            stack, name = around, stack.name.removeprefix(f"{around.name}-").rpartition("-")[0]
            yield stack.id, name

    @classmethod
    def _top(cls, row: Any, stacks: dict[str, Any]) -> tuple[str, str]:
        """The outermost stack, and which of its resources this is, or is in."""
        *_, top = cls._places(row, stacks)
        return top

    def ended(self, operation: Operation, status: str) -> None:
        if operation.inside:
            return
        if status != "COMPLETE":
            self._sound[operation.stack_id] = False
        elif operation.action not in VISITING:
            self._sound[operation.stack_id] = True
        repair = self._repairs.get(operation.id)
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
        if is_observer(by):
            self._broken("I19", f"{verb} of {thing.id} by {by}, who is there to look")
        stacks = {one.id: one for one in self._database.look("stacks")}
        root_id, top = self._top(row, stacks)
        # What is done inside a stack is done for what the stack around it is about.
        repair = self._repairs.get(stacks[root_id].operation_id if root_id != row.stack_id else operation_id or "")
        if repair is not None and repair.sound and top not in repair.reach:
            self._broken("I19", f"{verb} of {thing.id}, in a repair of {', '.join(repair.roots)}")

    def look(self, by: processes.Process | None, kind: str, ids: Sequence[str]) -> None:
        """I19: calls stay within the budget: nobody exceeds it, and those who know of each other share it."""
        now = self._clock()
        # Whoever was paused finds that the time of all his calls has come.
        if by is None or not is_observer(by) or not self._watched.rate or now <= by.since:
            return
        shares = self._watched.observers if now > self.together_at else 1
        key, rate = (by.name, kind, shares), self._watched.rate / shares
        begin = max(self._free_at.get(key, 0.0), now - BURST_S)
        if begin > now + 0.01:
            self._broken("I19", f"{by} looks at {kind} more than {rate:g} times in a second")
        self._free_at[key] = begin + 1.0 / rate

    # At rest.

    def problems(self) -> list[str]:
        """What is not as it should be, once observers have had the time to look at everything and to mend it."""
        stacks = {row.id: row for row in self._database.look("stacks") if not row.tomb}
        seen = {row.resource_id: row for row in self._database.look("observations")}
        tripped = {(row.stack_id, row.name) for row in self._database.look("repairs") if row.tripped_at is not None}
        # A check that has failed leaves its mark on a node; the resource is wanted all the same.
        nodes = [node for node in self._database.look("nodes") if node.kind in (NodeKind.UPDATE, NodeKind.VISIT)]
        standing, wanted = {node.resource_id for node in nodes}, {(node.stack_id, node.name) for node in nodes}
        # What is in something that is to go, goes with it.
        every = [row for row in self._database.look("resources") if row.id in standing and row.stack_id in stacks
                 and wanted.issuperset(self._places(row, stacks))]
        rows = [row for row in every
                if row.implementation.startswith("Sim::") and row.physical_id is not None and not row.external]
        found, drifted = list(self._tripped_in_vain(tripped, stacks)), set()
        resting = {self._top(row, stacks)[0] for row in rows if row.suspended}
        resting |= {stack.id for stack in stacks.values() if stack.action in _RESTING}
        for row in rows:
            what = self._truth(row)
            if what:
                drifted.add(self._top(row, stacks)[0])
            found += self._known(row, what, seen.get(row.id), stacks)
            awake = self._top(row, stacks)[0] not in resting
            if what and awake and (row.stack_id, row.name) not in tripped and self._is_to_repair(row, stacks):
                found += self._unrepaired(row, what, stacks)
        for stack in stacks.values():
            if stack.owner_id is None and stack.id not in resting:
                found += self._given_in(stack, tripped, every, stacks)
                if stack.id not in drifted and self._sound.get(stack.id):
                    found += self._differences(stack)
        return found

    def _differences(self, stack: Any) -> list[str]:
        found: list[str] = []
        compare = reality.Comparison(self._database, self._cloud, lambda _, text: found.append(text))
        compare(stack.id, stack.name, self._ledger.wanted[stack.id])
        return found

    def _truth(self, row: Any) -> str:
        """In which way the object is not as the engine made it."""
        thing = self._cloud.things.get(row.physical_id)
        if thing is None:
            return "is gone"
        return f"has drifted in {', '.join(thing.drifted)}" if thing.drifted else ""

    def _known(self, row: Any, what: str, seen: Any, stacks: dict[str, Any]) -> Iterator[str]:
        """What drifted is on record, and nothing else."""
        resting = any(stacks[id_].action in _RESTING for id_ in self._around(row.stack_id, stacks))
        if resting or row.suspended or row.status != Status.COMPLETE or self._mode(row.stack_id, stacks) == "paused":
            return
        if self._policy(row, stacks) == "ignore":
            return
        known = seen is not None and seen.drifted_since is not None
        if what and not known:
            yield f"{row.physical_id} {what}, and nobody has noticed"
        elif known and not what:
            yield f"{row.physical_id} is said to have drifted, and has not"

    def _unrepaired(self, row: Any, what: str, stacks: dict[str, Any]) -> Iterator[str]:
        root_id, name = self._top(row, stacks)
        if name not in self._ledger.wanted[root_id]:
            return  # it was to go, and whoever called that off has not said that it is to stay
        newest = self._ledger.newest[root_id]
        mended = newest.id in self._repairs or newest.action is Action.CHECK
        if newest.endings == ["COMPLETE"] or mended:
            yield f"{row.physical_id} {what}, and is not repaired"

    def _given_in(
        self, stack: Any, tripped: Collection[tuple[str, str]], rows: list[Any], stacks: dict[str, Any]
    ) -> Iterator[str]:
        """A repair that failed is tried again, until it is given up."""
        newest = self._ledger.newest[stack.id]
        repair = self._repairs.get(newest.id)
        if repair is None or newest.endings == ["COMPLETE"]:
            return
        left = [row for row in rows if self._top(row, stacks)[0] == stack.id and self._top(row, stacks)[1] in repair.roots]
        if not any((row.stack_id, row.name) in tripped or not self._is_to_repair(row, stacks) for row in left):
            yield f"a repair of {stack.name} has failed, and is not tried again"

    def _tripped_in_vain(self, tripped: Collection[tuple[str, str]], stacks: dict[str, Any]) -> Iterator[str]:
        for stack_id, name in tripped:
            top = self._top(_Name(stack_id, name), stacks) if stack_id in stacks else ("", "")
            if top[0] and self._rounds[top] < self._watched.limit:
                yield f"{name} of {stacks[stack_id].name} was given up after {self._rounds[top]} repairs"


@dataclass(frozen=True, slots=True)
class _Name:
    stack_id: str
    name: str


def _reach(shape: Shape, roots: Collection[str]) -> frozenset[str]:
    """These, and what depends on them."""
    found = set(roots)
    while True:
        more = {name for name, part in shape.items() if part.requires & found} - found
        if not more:
            return frozenset(found)
        found |= more
