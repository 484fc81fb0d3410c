"""Deletes snapshots part by part, through the types that made them. An interrupted deletion goes on with the parts left."""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine import contexts
from isotherm.engine.steps import act
from isotherm.engine.steps.ports import EnginePorts
from isotherm.planning import documents, masking
from isotherm.resources import contract, gate, runner
from isotherm.store.operations import snapshots
from isotherm.store.records import Part


class SnapshotCleaner:
    """Deletes snapshots. After `lease_s` for one part, another worker tries it."""

    def __init__(self, ports: EnginePorts, lease_s: float) -> None:
        self._store = ports.store
        self._planning = ports.planning
        self._context = ports.context
        self._types = ports.types
        self._lease_s = lease_s

    async def delete(self, unwanted: snapshots.UnwantedSnapshot) -> None:
        """Delete the parts of a snapshot, then the snapshot; or record why it could not be deleted."""
        lease = act.LeaseGuard(self._context.clock, unwanted.until)
        context = contexts.leased(self._context, lease, "", unwanted.stack_id)
        try:
            for part in unwanted.parts:
                await self._delete_part(unwanted, part, context)
                lease.until = await self._record_part(unwanted, part.name)
        except errors.Superseded:
            return
        except errors.Temporary as error:
            await self._record_failure(unwanted, str(error), self._context.clock.now() + error.retry_after_s)
        except Exception as error:  # noqa: BLE001 - any error of a plug-in is the reason why the snapshot stays
            await self._record_failure(unwanted, runner.describe(part.name, error), None)
        else:
            await self._store.write(lambda connection: snapshots.gone(connection, unwanted))

    async def _delete_part(self, unwanted: snapshots.UnwantedSnapshot, part: Part, context: contract.Context) -> None:
        was: dict[str, Any] = documents.decode(part.document, dict[str, Any])
        if was["snapshot"] is None:
            return
        state = contract.ResourceState(
            name=part.name, stack_name=unwanted.stack_name, stack_id=unwanted.stack_id, token="", properties={},
            physical_id=was["resource_id"], data=was["resource_data"], metadata=was["metadata"] or {})
        resource = self._types(part.implementation)(state, context)
        await gate.change(resource, resource.handle_delete_snapshot, was["snapshot"])

    async def _record_part(self, unwanted: snapshots.UnwantedSnapshot, name: str) -> float:
        """Record that a part is deleted, and return the time until which the lease is renewed."""
        until = self._context.clock.now() + self._lease_s
        await self._store.write(lambda connection: snapshots.part_gone(connection, unwanted, name, until))
        return until

    async def _record_failure(self, unwanted: snapshots.UnwantedSnapshot, reason: str, retry_at: float | None) -> None:
        try:
            reason = (await self._planning.all_secrets(unwanted.stack_id, unwanted.input)).text(reason)
        except errors.IsothermError:
            reason = masking.WITHHELD
        try:
            await self._store.write(lambda connection: snapshots.not_gone(connection, unwanted, reason, retry_at))
        except errors.Superseded:
            return
