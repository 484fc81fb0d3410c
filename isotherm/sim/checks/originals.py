"""I15: an operation that returns to the last complete shape brings back the original objects, not copies of them.

The originals are recorded when an operation is completed. An original that was harmed since (it failed or drifted, or an
operation deleted it) may be replaced, with all its dependants. One that was changed in place has to be changed back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from isotherm.sim.checks.operation_log import Operation
from isotherm.sim.histories import shapes
from isotherm.sim.histories.shapes import Shape
from isotherm.sim.world.cloud import Cloud, Thing
from isotherm.states import Action, Status


@dataclass(frozen=True, slots=True)
class _Complete:
    """A stack at the completion of an operation: its shape, and the id of each object."""

    action: Action
    shape: Shape = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


class Originals:
    """The objects of the stacks at their last completion."""

    def __init__(self, cloud: Cloud, broken: Callable[[str, str], None]) -> None:
        self._cloud = cloud
        self._broken = broken
        self._complete: dict[str, _Complete] = {}
        self._excused: set[str] = set()

    def complete(self, operation: Operation, superseded: Set[str]) -> None:
        """Record the objects that a rollback has to bring back: without those that stay only for what was left out."""
        parts = shapes.living(operation.shape)
        left = superseded if operation.slack is None else superseded | {
            thing.id for thing in self._cloud.things.values() if operation.slack.excuses(thing.name)}
        ids = {thing.name: thing.id for thing in self._cloud.things.values()
               if thing.stack == operation.stack and not thing.foreign and thing.id not in self._cloud.released
               and thing.name in parts and thing.id not in left}
        self._complete[operation.stack_id] = _Complete(operation.action, operation.shape, ids)

    def rename(self, stack_id: str, names: Mapping[str, str]) -> None:
        """Expect the originals under other names: an object that is moved stays what it is."""
        known = self._complete.get(stack_id)
        if known is not None:
            ids = {names.get(name, name): id_ for name, id_ in known.ids.items()}
            self._complete[stack_id] = _Complete(known.action, shapes.renamed(known.shape, names), ids)

    def excuse(self, thing: Thing) -> None:
        self._excused.add(thing.id)

    def read(self, resources: Collection[Any], operations: Mapping[str, Operation]) -> None:
        """Check the rows for deleted originals; objects that failed or are deleted are not expected back."""
        lost = [row for row in resources if row.physical_id is not None and row.physical_id not in self._excused
                and (row.status == Status.FAILED or row.action == Action.DELETE)]
        for row in lost:
            if row.action == Action.DELETE:
                self._check_delete(row, operations[row.operation_id])
        self._excused.update(row.physical_id for row in lost)

    def _check_delete(self, row: Any, operation: Operation) -> None:
        known = self._complete.get(operation.stack_id)
        if known is None or known.shape != operation.shape or known.ids.get(row.name) != row.physical_id:
            return
        # An object that a restore took from a snapshot is not in the template of a later update.
        goes_back = operation.action is Action.ROLLBACK or (
            operation.action is Action.UPDATE and known.action is not Action.RESTORE)
        if goes_back and self._is_sound(row.name, known):
            self._broken("I15", f"{row.physical_id} is deleted, which is an original")

    def _is_sound(self, name: str, known: _Complete) -> bool:
        part = shapes.living(known.shape).get(name)
        if part is None or part.inner is not None:
            return False
        if part.external:
            return True
        id_ = known.ids.get(name, "")
        there = id_ in self._cloud.things and id_ not in self._excused and id_ not in self._cloud.released
        return there and all(self._is_sound(need, known) for need in part.requires)
