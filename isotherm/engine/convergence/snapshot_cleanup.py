"""Deletes snapshots, part by part: each type lets go of what it kept. What one leaves undone, the next one finds."""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine import contexts
from isotherm.engine.steps import act, outcomes
from isotherm.planning import documents, masking
from isotherm.planning.planner import Planning
from isotherm.resources import contract, gate, runner
from isotherm.store.database.writer import Store
from isotherm.store.operations import snapshots
from isotherm.store.records import Part


class SnapshotCleaner:
    """Deletes what is due; `lease_s` is how long one part may take before somebody else tries."""

    def __init__(
        self, store: Store, context: contract.Context, types: outcomes.Types, planning: Planning, lease_s: float
    ) -> None:
        self._store = store
        self._planning = planning
        self._context = context
        self._types = types
        self._lease_s = lease_s

    async def __call__(self, doomed: snapshots.Doomed) -> None:
        lease = act.LeaseGuard(self._context.clock, doomed.until)
        context = contexts.leased(self._context, lease, "")
        try:
            for part in doomed.parts:
                await self._let_go(doomed, part, context)
                lease.until = await self._tick_off(doomed, part.name)
        except errors.Superseded:
            return
        except errors.Temporary as error:
            await self._not_gone(doomed, str(error), self._context.clock.now() + error.retry_after_s)
        except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is why the snapshot stays
            await self._not_gone(doomed, runner.describe(part.name, error), None)
        else:
            await self._store.write(lambda connection: snapshots.gone(connection, doomed))

    async def _let_go(self, doomed: snapshots.Doomed, part: Part, context: contract.Context) -> None:
        was: dict[str, Any] = documents.decode(part.document, dict[str, Any])
        if was["snapshot"] is None:
            return
        state = contract.ResourceState(
            name=part.name, stack_name=doomed.stack_name, stack_id=doomed.stack_id, token="", properties={},
            physical_id=was["resource_id"], data=was["resource_data"], metadata=was["metadata"] or {})
        resource = self._types(part.implementation)(state, context)
        await gate.change(resource, resource.handle_delete_snapshot, was["snapshot"])

    async def _tick_off(self, doomed: snapshots.Doomed, name: str) -> float:
        until = self._context.clock.now() + self._lease_s
        await self._store.write(lambda connection: snapshots.part_gone(connection, doomed, name, until))
        return until

    async def _not_gone(self, doomed: snapshots.Doomed, reason: str, retry_at: float | None) -> None:
        try:
            reason = (await self._planning.all_secrets(doomed.stack_id, doomed.input)).text(reason)
        except errors.IsothermError:
            reason = masking.WITHHELD
        try:
            await self._store.write(lambda connection: snapshots.not_gone(connection, doomed, reason, retry_at))
        except errors.Superseded:
            return
