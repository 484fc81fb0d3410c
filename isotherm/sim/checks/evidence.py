"""The evidence that the checks judge by: committed tables, the cloud, the virtual clock and the log of operations."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import msgspec

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


def superseded_objects(database: MemoryDatabase, stack_id: str) -> set[str]:
    """Return the ids of the objects and nested stacks that only superseded versions of a stack have."""
    rows = [row for row in database.read_table("resources") if row.stack_id == stack_id]
    return {row.physical_id for row in rows if row.superseded} - {row.physical_id for row in rows if not row.superseded}


def kept_objects(
    database: MemoryDatabase, cloud: Cloud, stack_id: str, wanted: Collection[str], uses: Callable[[str], bool]
) -> set[str]:
    """Return the ids of objects and nested stacks that are not wanted, and stay because other resources may use them (I7).

    `wanted` are the names that a template has; `uses` chooses the users by name. The rows tell more than the cloud: a
    failed creation, or a resource that only has to wait for another, uses no object.
    """
    rows = {row.id: row for row in database.read_table("resources") if row.stack_id == stack_id}
    kept = _used(rows, cloud, [row for row in rows.values() if uses(row.name) and not is_forgotten(row)])
    current = {row.physical_id for row in rows.values() if row.name in wanted and not row.superseded}
    ids, tokens = {row.physical_id for row in kept if row.physical_id}, {row.token for row in kept}
    return (ids | {thing.id for thing in cloud.things.values() if thing.token in tokens}) - current


def _used(rows: dict[int, Any], cloud: Cloud, users: list[Any]) -> list[Any]:
    """Return the rows that these use, directly or through others, by themselves or by their objects."""
    found: dict[int, Any] = {}
    while users:
        row = users.pop()
        thing = cloud.things.get(row.physical_id)
        used = () if thing is None else thing.uses
        more = {*msgspec.json.decode(row.requires), *(one.id for one in rows.values() if one.physical_id in used)}
        fresh = [rows[id_] for id_ in more if id_ in rows and id_ not in found]
        found |= {one.id: one for one in fresh}
        users += fresh
    return list(found.values())
