"""The log of operations, kept apart from the engine: their order, their desired shapes and their endings.

The order of acceptance is read from the commits, the shape of an operation from its client's request. The target of a
rollback is worked out here, from the operations that were completed (I15).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from isotherm.sim.histories import limits, shapes
from isotherm.sim.histories.history import Request, Verb
from isotherm.sim.histories.shapes import Shape
from isotherm.states import VISITING, Action


@dataclass(slots=True)
class Operation:
    """An accepted operation, as the simulator knows it."""

    id: str
    stack_id: str
    stack: str
    generation: int
    action: Action
    # What it wants: after a limited update, some parts are older than those of its input.
    shape: Shape
    by: str
    # Whether its stack is nested: its shape is not known, only that of the outermost stack.
    inside: bool = False
    # The statuses of its terminal events.
    endings: list[str] = field(default_factory=list)
    # Whether it observes reality: its request says so, or it rolls back an operation that did.
    looks: bool = False
    # The shape of its whole input.
    whole: Shape = field(default_factory=dict)
    # What it has left out; None: nothing.
    slack: limits.Slack | None = None
    # Of a visit: whether every resource was as wanted before it.
    was_sound: bool = False
    # When it was accepted, in the witness's count of events.
    tick: int = 0


class OperationLog:
    """All operations of a run."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.newest: dict[str, Operation] = {}
        # By stack: the last operation that reached COMPLETE.
        self._complete: dict[str, Operation] = {}
        # By stack: the generation of that operation.
        self.complete_generations: dict[str, int] = {}
        # Stacks whose newest operation was complete, and not only visited since.
        self._sound: set[str] = set()
        # By stack: the shape of the newest operation, whatever its end.
        self.wanted: dict[str, Shape] = {}
        # By stack and name: whether the newest planned template that has the name retains its object.
        self._retain: dict[tuple[str, str], bool] = {}
        # What a rollback retains whose plan may never be seen: one commit may plan it and accept the next operation.
        self._may_retain: set[tuple[str, str]] = set()
        # Stacks that were abandoned, or whose adoption was rolled back, and not complete since: any object may be kept.
        self._let_go: set[str] = set()
        # By abandon operation: the shape of its stack before.
        self.before_abandoning: dict[str, Shape] = {}

    def accepted(
        self, operation: Operation, request: Request | None, shape: Shape | None = None, taken: Operation | None = None
    ) -> None:
        """Record an accepted operation. A restore or adoption has its `shape` from a snapshot or an export document.

        `taken` is the operation that took the snapshot.
        """
        before = self.newest.get(operation.stack_id)
        operation.whole = self._whole(operation, request) if shape is None else shape if taken is None else taken.whole
        operation.shape = self._shape(operation, request) if shape is None else shape
        operation.slack = _remembered(taken.slack) if taken is not None else self._slack(operation, request)
        operation.was_sound = operation.stack_id in self._sound
        self._sound.discard(operation.stack_id)
        if operation.action is Action.ROLLBACK:
            operation.looks = before is not None and before.looks
        elif operation.action is Action.UPDATE:
            operation.looks = request is not None and request.converge
        undone = (operation.action is Action.ROLLBACK and before is not None and before.action is Action.ADOPT
                  and "COMPLETE" not in before.endings)
        if request is not None and request.verb is Verb.ABANDON:
            self.before_abandoning[operation.id] = self.wanted.get(operation.stack_id, shapes.EMPTY)
            undone = True
        if undone:
            self._let_go.add(operation.stack_id)
        self.operations[operation.id] = operation
        self.newest[operation.stack_id] = operation
        self.wanted[operation.stack_id] = operation.shape
        if operation.action is Action.ROLLBACK:
            self._may_retain |= {(operation.stack_id, name) for name, part in operation.shape.items() if part.retain}
        elif operation.action not in VISITING:
            self.planned(operation)

    def rename(self, stack_id: str, names: Mapping[str, str]) -> None:
        """Give what is known of resources to their new names."""
        kept = {key: value for key, value in self._retain.items() if key[0] != stack_id or key[1] not in names}
        moved = {(stack_id, new): self._retain[stack_id, old] for old, new in names.items()
                 if (stack_id, old) in self._retain}
        self._retain = {**kept, **moved}
        self._may_retain = {(of, names.get(name, name) if of == stack_id else name) for of, name in self._may_retain}

    def planned(self, operation: Operation) -> None:
        """Apply its deletion policies. A rollback is accepted without a plan and may be superseded before it has one."""
        for name, part in operation.shape.items():
            if not part.off:
                self._retain[operation.stack_id, name] = part.retain
                self._may_retain.discard((operation.stack_id, name))

    def _whole(self, operation: Operation, request: Request | None) -> Shape:
        """Return the shape of the operation's whole input."""
        if operation.action in (Action.CREATE, Action.UPDATE) and request is not None and request.verb in _OWN_SHAPE:
            return request.shape
        if operation.action is Action.ROLLBACK:
            complete = self._complete.get(operation.stack_id)
            return shapes.EMPTY if complete is None else complete.whole
        before = self.newest.get(operation.stack_id)
        keeps = operation.action is Action.UPDATE or operation.action in VISITING
        return before.whole if keeps and before is not None and not operation.inside else shapes.EMPTY

    def _slack(self, operation: Operation, request: Request | None) -> limits.Slack | None:
        """Return what the operation leaves out."""
        before, asked = self.newest.get(operation.stack_id), operation.action in (Action.CREATE, Action.UPDATE)
        if asked and request is not None and (request.target or request.exclude):
            earlier = None if before is None else before.slack
            doubtful = before is not None and operation.stack_id not in self._sound
            return limits.slack(self.wanted.get(operation.stack_id, shapes.EMPTY), operation.whole, request.target,
                                request.exclude, doubtful=doubtful, earlier=earlier)
        if operation.action is Action.ROLLBACK:
            complete = self._complete.get(operation.stack_id)
            return None if complete is None else _remembered(complete.slack)
        if before is None or before.slack is None or operation.inside:
            return None
        if operation.action in VISITING:
            return before.slack
        full = operation.action is not Action.UPDATE or (request is not None and request.verb is not Verb.CONVERGE_ONE)
        # A repair leaves out what waits, which may have referred to what it replaces.
        return None if full else dataclasses.replace(before.slack, doubtful=True)

    def _shape(self, operation: Operation, request: Request | None) -> Shape:
        wants = operation.action in (Action.CREATE, Action.UPDATE)
        if wants and request is not None and request.verb is not Verb.CONVERGE_ONE:
            if not (request.target or request.exclude):
                return operation.whole
            before = self.wanted.get(operation.stack_id, shapes.EMPTY)
            return limits.mixed(before, operation.whole, request.target, request.exclude)
        if operation.action is Action.UPDATE and not operation.inside:
            # A repair keeps the shape.
            return self.wanted.get(operation.stack_id, shapes.EMPTY)
        if operation.action is Action.ROLLBACK:
            complete = self._complete.get(operation.stack_id)
            return shapes.EMPTY if complete is None else complete.shape
        if operation.action in VISITING:
            return self.wanted.get(operation.stack_id, shapes.EMPTY)
        return shapes.EMPTY

    def ended(self, operation_id: str, status: str) -> Operation:
        operation = self.operations[operation_id]
        operation.endings.append(status)
        if status == "COMPLETE" and self.newest[operation.stack_id] is operation and (
                operation.was_sound or operation.action not in VISITING):
            self._sound.add(operation.stack_id)
        if status == "COMPLETE" and operation.action is Action.ROLLBACK:
            self.planned(operation)
        if status == "COMPLETE" and operation.action not in VISITING:
            self._complete[operation.stack_id] = operation
            self.complete_generations[operation.stack_id] = operation.generation
            self._let_go.discard(operation.stack_id)
        return operation

    def may_keep(self, stack_id: str, name: str) -> bool:
        """Return whether an object may be left behind: by its policy, or by that of a rollback that may be planned."""
        return stack_id in self._let_go or self.retains(stack_id, name) or (stack_id, name) in self._may_retain

    def retains(self, stack_id: str, name: str) -> bool:
        return self._retain.get((stack_id, name), False)


def _remembered(slack: limits.Slack | None) -> limits.Slack | None:
    """Return the slack of an operation that brings the same resources to the same definitions, and leaves none out."""
    return None if slack is None else dataclasses.replace(slack, stale=frozenset(), doubtful=False, before=None)


# Requests with a shape of their own.
_OWN_SHAPE = frozenset({Verb.CREATE, Verb.UPDATE})


def expects_operation(verb: Verb) -> bool:
    """Return whether an accepted request with this verb becomes an operation of its own."""
    return verb not in _NO_OPERATION


_NO_OPERATION = frozenset({
    Verb.READ, Verb.VANISH, Verb.DRIFT, Verb.CANCEL_STAY, Verb.DELETE_SNAPSHOT, Verb.SIGNAL, Verb.WATCH, Verb.OVERRIDE,
    Verb.PROJECT, Verb.HINT, Verb.OBSERVE, Verb.PROTECT, Verb.UNPROTECT, Verb.MOVE,
})
