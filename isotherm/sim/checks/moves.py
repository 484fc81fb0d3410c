"""I1, I15: an object that is moved belongs to the resource of the new name, and a rollback gives it back. An object that is
moved to another stack belongs to a resource of that stack, until it is moved on.

The names are worked out here from the requests of the clients; an object keeps the name that it has here until a move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isotherm.sim.checks.evidence import Evidence
from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.checks.originals import Originals
from isotherm.sim.histories import shapes
from isotherm.sim.histories.history import Request, Verb
from isotherm.sim.histories.shapes import Part, Shape
from isotherm.sim.world.cloud import Thing
from isotherm.states import Action


class Moves:
    """The moves of each stack."""

    def __init__(self, evidence: Evidence, originals: Originals) -> None:
        self._evidence = evidence
        self._originals = originals
        # By stack: the generations of operations that moved resources, with the moves.
        self._made: dict[str, list[tuple[int, Mapping[str, str]]]] = {}
        # By token: every object whose creation was called for, also while the call is under way.
        self._things: dict[str, Thing] = {}
        # By client: the part that it moves to another stack.
        self._given: dict[str, Part] = {}

    def accept(self, operation: Operation, asked: Mapping[str, str]) -> None:
        """Move the objects of an accepted operation. `asked` are the moves of the client that accepted it."""
        if operation.action is Action.UPDATE and asked and not operation.inside:
            self._made.setdefault(operation.stack_id, []).append((operation.generation, asked))
            self._rename(operation, asked)
        target = self._evidence.operations.complete_generations.get(operation.stack_id)
        if operation.action is Action.ROLLBACK and target is not None:
            made = self._made.get(operation.stack_id, [])
            for _, names in reversed([one for one in made if one[0] > target]):
                self._rename(operation, _back(names))
            self._made[operation.stack_id] = [one for one in made if one[0] <= target]

    def hand_over(self, operation: Operation, request: Request | None) -> Shape | None:
        """Return the shape of a stack that gives or takes a resource by a request; None for other requests.

        The request is accepted by one operation on each of the two stacks, in either order.
        """
        if request is None or request.verb is not Verb.MOVE:
            return None
        log, (to, _, new_name) = self._evidence.operations, request.word.partition("/")
        if operation.by not in self._given:
            giving = max((one for one in log.newest.values() if one.stack == request.stack), key=lambda one: one.tick)
            self._given[operation.by] = giving.shape[request.resource]
            self._give(request, to, new_name)
        before = log.wanted.get(operation.stack_id, shapes.EMPTY)
        if operation.stack == request.stack:
            return {name: part for name, part in before.items() if name != request.resource}
        return {**before, new_name: self._given[operation.by]}

    def _give(self, request: Request, to: str, new_name: str) -> None:
        """Give the object of a resource to the other stack: that of the row which the other stack has now."""
        stacks = {one.id: one.name for one in self._evidence.living_stacks()}
        for row in self._evidence.database.read_table("resources"):
            thing = self._things.get(row.token)
            if thing is None or stacks.get(row.stack_id) != to or row.name != new_name or row.superseded:
                continue
            if (thing.stack, thing.name) != (request.stack, request.resource):
                self._evidence.broken("I1", f"{thing.id} of {thing.stack} is row {new_name} of {to} after a move")
            thing.stack, thing.name = to, new_name

    def create(self, thing: Thing) -> None:
        """Record a call that creates an object: it belongs to the resource whose row has its token."""
        row = next((one for one in self._evidence.database.read_table("resources") if one.token == thing.token), None)
        if row is not None:
            thing.name = row.name
        self._things[thing.token] = thing

    def check(self, resources: Iterable[Any]) -> None:
        """I1: the row of an object has the name of the resource that the object belongs to."""
        for row in resources:
            thing = self._things.get(row.token)
            if thing is not None and thing.id == row.physical_id and thing.name != row.name and row.made_as is not None:
                self._evidence.broken("I1", f"{thing.id} belongs to {thing.name}, and its row says {row.name}")

    def _rename(self, operation: Operation, names: Mapping[str, str]) -> None:
        for thing in self._things.values():
            if thing.stack == operation.stack:
                thing.name = names.get(thing.name, thing.name)
        self._originals.rename(operation.stack_id, names)
        self._evidence.operations.rename(operation.stack_id, names)


def _back(names: Mapping[str, str]) -> dict[str, str]:
    """Return the names that take moves back. A resource that has taken a free name gets the name that becomes free."""
    back = {new: old for old, new in names.items()}
    for first in names.keys() - set(names.values()):
        last = first
        while last in names:
            last = names[last]
        back[first] = last
    return back
