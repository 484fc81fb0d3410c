"""What the simulator knows of operations, apart from the engine: who asked for what, in which order, and what came of it.

The order of acceptance is read from what was committed; what an operation wants is the shape that the client had in mind.
What a rollback goes back to is worked out here, from what was seen to be completed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import Request, Verb
from isotherm.sim.histories.shapes import Shape
from isotherm.states import VISITING, Action


@dataclass(slots=True)
class Operation:
    """An accepted operation, as the simulator understands it."""

    id: str
    stack_id: str
    stack: str
    generation: int
    action: Action
    shape: Shape
    by: str
    # Whether it is on a stack inside another: what it wants is not known, only what the whole tree should be in the end.
    inside: bool = False
    # How many times it was said to have ended, and with which word.
    endings: list[str] = field(default_factory=list)
    # Whether it looks at reality: it was asked to, or goes back from one that was.
    looks: bool = False
    # When it was accepted, as the witness counts.
    tick: int = 0


class Ledger:
    """All operations of a run."""

    def __init__(self) -> None:
        self.operations: dict[str, Operation] = {}
        self.newest: dict[str, Operation] = {}
        # By stack: the shape of the last operation that was completed.
        self._complete: dict[str, Shape] = {}
        # By stack: the last shape that was wanted, whatever became of it; a check wants nothing new.
        self.wanted: dict[str, Shape] = {}
        # By stack and name: whether the object is to be kept, as of the newest template that has the name.
        self._retain: dict[tuple[str, str], bool] = {}
        # Stacks that were abandoned, or whose adoption was rolled back, and have not come right since: all may be kept.
        self._let_go: set[str] = set()
        # By operation that abandons: what had been wanted of the stack until then.
        self.before_abandoning: dict[str, Shape] = {}

    def accepted(self, operation: Operation, request: Request | None, shape: Shape | None = None) -> None:
        """`shape`: what a client wants that names something old: a snapshot, papers."""
        operation.shape = self._shape(operation, request) if shape is None else shape
        before = self.newest.get(operation.stack_id)
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
        if operation.action is not Action.ROLLBACK and operation.action not in VISITING:
            self.planned(operation)

    def planned(self, operation: Operation) -> None:
        """From now on its policies hold. A rollback is accepted without a plan, and may be overtaken before it has one."""
        for name, part in operation.shape.items():
            if not part.off:
                self._retain[operation.stack_id, name] = part.retain

    def _shape(self, operation: Operation, request: Request | None) -> Shape:
        if operation.action in (Action.CREATE, Action.UPDATE) and request is not None and request.verb is not Verb.MEND:
            return request.shape
        if operation.action is Action.UPDATE and not operation.inside:
            # A repair wants nothing new.
            return self.wanted.get(operation.stack_id, shapes.EMPTY)
        if operation.action is Action.ROLLBACK:
            return self._complete.get(operation.stack_id, shapes.EMPTY)
        if operation.action in VISITING:
            return self.wanted.get(operation.stack_id, shapes.EMPTY)
        return shapes.EMPTY

    def ended(self, operation_id: str, status: str) -> Operation:
        operation = self.operations[operation_id]
        operation.endings.append(status)
        if status == "COMPLETE" and operation.action is Action.ROLLBACK:
            self.planned(operation)
        if status == "COMPLETE" and operation.action not in VISITING:
            self._complete[operation.stack_id] = operation.shape
            self._let_go.discard(operation.stack_id)
        return operation

    def may_keep(self, stack_id: str, name: str) -> bool:
        """Tell whether an object may be left behind: by its policy, or by that of a rollback that is perhaps planned."""
        part = self.wanted.get(stack_id, {}).get(name)
        return stack_id in self._let_go or self.retains(stack_id, name) or (part is not None and part.retain)

    def retains(self, stack_id: str, name: str) -> bool:
        return self._retain.get((stack_id, name), False)


def expects_operation(verb: Verb) -> bool:
    """Whether the verb, when it is accepted, becomes an operation of its own."""
    return verb not in _NO_OPERATION


_NO_OPERATION = frozenset({
    Verb.READ, Verb.VANISH, Verb.STIR, Verb.CANCEL_STAY, Verb.FORGET, Verb.SIGNAL, Verb.WATCH, Verb.OVERRIDE, Verb.PROJECT,
    Verb.HINT, Verb.OBSERVE,
})
