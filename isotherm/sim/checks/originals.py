"""I15: an operation that goes back to what was last complete brings back the very objects, not others like them.

Which objects these are is seen when an operation is completed. Where one of them has come to harm since (it failed, it
drifted, an operation that did not want it deleted it, or one changed it in place before another let it go), it may be made
anew, and so may whatever requires it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.histories import shapes
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world.cloud import Cloud, Thing
from isotherm.states import Action, Status


@dataclass(frozen=True, slots=True)
class _Complete:
    """A stack as it was when an operation on it was completed: its shape, and the object of each name, as it was."""

    action: Action
    shape: Shape = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    properties: dict[str, Any] = field(default_factory=dict)


class Originals:
    """The objects of stacks as they last were complete."""

    def __init__(self, cloud: Cloud, broken: Callable[[str, str], None]) -> None:
        self._cloud = cloud
        self._broken = broken
        self._complete: dict[str, _Complete] = {}
        self._harmed: set[str] = set()

    def complete(self, operation: Operation) -> None:
        """What there is now is what a rollback has to bring back."""
        parts = shapes.living(operation.shape)
        ids = {thing.name: thing.id for thing in self._cloud.things.values()
               if thing.stack == operation.stack and not thing.foreign and thing.id not in self._cloud.released
               and thing.name in parts}
        properties = {id_: _awake(self._cloud.things[id_]) for id_ in ids.values()}
        self._complete[operation.stack_id] = _Complete(operation.action, operation.shape, ids, properties)

    def harm(self, thing: Thing) -> None:
        self._harmed.add(thing.id)

    def see(self, resources: Collection[Any], operations: Mapping[str, Operation]) -> None:
        """Look at what the engine's tables say: what has failed, or is being deleted, is not expected back any more."""
        self._harmed.update(
            row.physical_id for row in resources if row.superseded and self._is_changed(row.stack_id, row.physical_id))
        lost = [row for row in resources if row.physical_id is not None and row.physical_id not in self._harmed
                and (row.status == Status.FAILED or row.action == Action.DELETE)]
        for row in lost:
            if row.action == Action.DELETE:
                self._deletes(row, operations[row.operation_id])
        self._harmed.update(row.physical_id for row in lost)

    def _deletes(self, row: Any, operation: Operation) -> None:
        known = self._complete.get(operation.stack_id)
        if known is None or known.shape != operation.shape or known.ids.get(row.name) != row.physical_id:
            return
        # What was kept for a snapshot belongs to what was restored, and an update does not know of it.
        goes_back = operation.action is Action.ROLLBACK or (
            operation.action is Action.UPDATE and known.action is not Action.RESTORE)
        if goes_back and self._is_sound(row.name, known):
            self._broken("I15", f"{row.physical_id} is deleted, which was to be brought back")

    def _is_sound(self, name: str, known: _Complete) -> bool:
        part = shapes.living(known.shape).get(name)
        if part is None or part.inner is not None:
            return False
        if part.external:
            return True
        id_ = known.ids.get(name, "")
        there = id_ in self._cloud.things and id_ not in self._harmed and id_ not in self._cloud.released
        return there and all(self._is_sound(need, known) for need in part.requires)

    def _is_changed(self, stack_id: str, id_: str | None) -> bool:
        """Whether an original is not what it was."""
        known, thing = self._complete.get(stack_id), self._cloud.things.get(id_ or "")
        return known is not None and thing is not None and known.properties.get(thing.id, _awake(thing)) != _awake(thing)


def _awake(thing: Thing) -> dict[str, Any]:
    """The properties of an object, whether it is at rest or not."""
    return {name: value for name, value in thing.properties.items() if name != "rest"}
