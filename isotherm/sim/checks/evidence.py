"""The evidence that the checks judge by: committed tables, the cloud, the virtual clock and the log of operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isotherm.sim.checks.operation_log import OperationLog
from isotherm.sim.world.cloud import Cloud
from isotherm.states import Action, OperationState, Status
from isotherm.store.memory import MemoryDatabase

UNFINISHED = frozenset(
    {OperationState.PLANNING, OperationState.WAKING, OperationState.UPDATING, OperationState.CLEANING})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Inputs of every check. `broken(invariant, text)` reports a violation."""

    database: MemoryDatabase
    cloud: Cloud
    clock: Callable[[], float]
    operations: OperationLog
    broken: Callable[[str, str], None]

    def living_stacks(self) -> list[Any]:
        return [stack for stack in self.database.read_table("stacks") if not stack.tomb]


def is_forgotten(row: Any) -> bool:
    """Return whether the row of a version says that its object was deleted."""
    return bool(row.action == Action.DELETE and row.status == Status.COMPLETE)
