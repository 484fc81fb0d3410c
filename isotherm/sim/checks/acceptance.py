"""I3, I4, I13: operations are accepted one after another, and start nothing for an older generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from isotherm.sim.checks.evidence import UNFINISHED, Evidence
from isotherm.sim.checks.moves import Moves
from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.histories.history import Request
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world import processes
from isotherm.states import Action


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Requests of the clients. Every key is the name of a client's process."""

    requests: dict[str, Request] = field(default_factory=dict)
    # The operation that the request became.
    operations: dict[str, Operation] = field(default_factory=dict)
    # The shape that a restore or an adoption asks for.
    shapes: dict[str, Shape] = field(default_factory=dict)
    # The operation that took the snapshot which is restored.
    taken: dict[str, Operation] = field(default_factory=dict)
    # The stack whose watch policy the client sets.
    watched_stacks: dict[str, str] = field(default_factory=dict)
    # The stack and the resource that the client protects or unprotects; no resource: the stack.
    protected: dict[str, tuple[str, str]] = field(default_factory=dict)
    # The moves of an update, old name to new name.
    moved: dict[str, Mapping[str, str]] = field(default_factory=dict)


class Acceptance:
    """Checks the operations and intents that a unit of work has written."""

    def __init__(self, evidence: Evidence, log: RequestLog, moves: Moves, note: Callable[[str], None]) -> None:
        self._evidence = evidence
        self._moves = moves
        self._log = log
        self._note = note
        self._generations: dict[str, int] = {}
        # Every intent that was ever written: row, operation, action.
        self._intents: set[tuple[int, str, int]] = set()
        self.tick = 0

    def next_tick(self) -> int:
        """Count one more event; acceptances and drifts are ordered by this count."""
        self.tick += 1
        return self.tick

    def accept(self, by: processes.Process | None) -> Iterator[tuple[Operation, Operation | None]]:
        """Record the operations that were accepted; yield each with the one before it on its stack."""
        operations = self._evidence.operations
        stacks = self._evidence.database.read_table("stacks")
        moved = {stack.id for stack in stacks if stack.operation_id not in operations.operations}
        self._check_intents({stack.id: stack.operation_id for stack in stacks}, moved)
        name = by.name if by else ""
        for stack in stacks:
            if stack.operation_id in operations.operations:
                continue
            operation = self._accepted(stack, name)
            previous = operations.newest.get(stack.id)
            wanted = self._log.shapes.get(name) if operation.action in (Action.RESTORE, Action.ADOPT) else None
            wanted = self._moves.hand_over(operation, self._log.requests.get(name)) or wanted
            self._moves.accept(operation, self._log.moved.get(name, {}))
            operations.accepted(operation, self._log.requests.get(name), wanted, self._log.taken.get(name))
            yield operation, previous
            if operation.action is Action.ADOPT:
                self._adopt_objects(stack.id)
            if name in self._log.requests:
                self._log.operations[name] = operation
            self._note(f"accepted {operation.action.name} of {stack.name}, generation {stack.generation}, by {name}")
            if operation.inside:
                self._check_deadline(stack, next(one for one in stacks if one.id == stack.owner_id))

    def _accepted(self, stack: Any, by: str) -> Operation:
        before = self._generations.get(stack.id, 0)
        if stack.generation != before + 1:
            self._evidence.broken("I3", f"generation of {stack.name} went from {before} to {stack.generation}")
        self._generations[stack.id] = stack.generation
        return Operation(
            stack.operation_id, stack.id, stack.name, stack.generation, Action(stack.action), {}, by,
            inside=stack.owner_id is not None, tick=self.next_tick(),
        )

    def _adopt_objects(self, stack_id: str) -> None:
        """Give the objects of an adopted stack the tokens of their new rows."""
        cloud = self._evidence.cloud
        for row in self._evidence.database.read_table("resources"):
            thing = cloud.things.get(row.physical_id or "")
            if row.stack_id == stack_id and thing is not None and not thing.foreign:
                cloud.released.discard(thing.id)
                thing.token = row.token

    def _check_deadline(self, stack: Any, owner: Any) -> None:
        """I13: the deadline of a nested operation is at most that of its parent, and the parent is unfinished (I4)."""
        stored = {one.id: one for one in self._evidence.database.read_table("operations")}
        mine, parent = stored[stack.operation_id], stored[owner.operation_id]
        endless = mine.deadline is None and mine.state in UNFINISHED
        if parent.deadline is not None and (endless or (mine.deadline or 0.0) > parent.deadline):
            self._evidence.broken("I13", f"the deadline of {stack.name} is later than that of {owner.name} around it")
        if parent.state not in UNFINISHED or parent.cancelled:
            self._evidence.broken("I4", f"an operation on {stack.name} was started after that on {owner.name} had ended")

    def _check_intents(self, newest: dict[str, str], moved: set[str]) -> None:
        """I4: intents are written for the newest operation only.

        Exempt are stacks whose newest operation changes in this very unit, and late reports about a known intent.
        """
        for row in self._evidence.database.read_table("resources"):
            if row.intent is None:
                continue
            intent = msgspec.json.decode(row.intent)
            known = (row.id, intent["operation_id"], intent["action"])
            old = intent["operation_id"] != newest[row.stack_id] and row.stack_id not in moved
            if old and known not in self._intents:
                action = Action(intent["action"]).name
                self._evidence.broken("I4", f"{action} of {row.name} was started for an older operation")
            self._intents.add(known)
