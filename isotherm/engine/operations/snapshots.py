"""Snapshots of stacks: take, list, show, delete, restore.

An operation that visits every resource takes a snapshot. Restore is an ordinary update to the input of that moment, with
the data that each type kept in the snapshot. As in Heat, no snapshot is taken while another operation runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isotherm import errors
from isotherm.engine.operations.accept import Accepted, Acceptor, Request, refuse_suspended
from isotherm.engine.operations.stacks import expect_seen
from isotherm.engine.queries import views
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, documents, planner
from isotherm.states import Action, Status
from isotherm.store import limits, rows
from isotherm.store.database.writer import Connection
from isotherm.store.operations import move, plan, snapshots, visit
from isotherm.store.reads import lookups
from isotherm.store.records import Part

_Views = list[dict[str, Any]]


class SnapshotService:
    """Takes, reads, deletes and restores the snapshots of stacks."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def take(self, name_or_id: str, snapshot_name: str | None = None, *, limited: bool = True) -> Accepted:
        """Take a snapshot; its id is that of the operation. `limited`: within the number that the settings allow."""
        stack = await self._stacks.row(name_or_id)
        if stack["status"] == Status.IN_PROGRESS:
            raise errors.Conflict(
                f"Stack {stack['name']} already has an action ({Action(stack['action']).name}) in progress.",
                kind="ActionInProgress", hint="Take the snapshot when it has ended.")

        def write(connection: Connection, operation_id: str, now: float) -> None:
            operation = rows.operation(connection, operation_id)
            if operation is None:
                raise errors.Bug("an operation that this transaction accepted does not exist")
            if limited:
                limits.snapshots(connection, operation.stack_id, self._ports.settings.max_snapshots_per_stack)
            snapshots.open_(connection, operation, snapshot_name, now)
            visit.write(connection, operation_id, now)

        return await self._acceptor.supersede(self._acceptor.repetition(stack, Action.SNAPSHOT), write)

    async def list(self, name_or_id: str) -> _Views:
        stack = await self._stacks.row(name_or_id)
        found = await self._ports.store.read(lambda connection: snapshots.of_stack(connection, stack["id"]))
        return [views.snapshot(row) for row in found]

    async def show(self, name_or_id: str, snapshot: str, *, hidden: bool = False) -> dict[str, Any]:
        """Return a snapshot with its export document; `hidden`: with its secrets."""
        stack, row = await self._find_snapshot(name_or_id, snapshot)
        input_, parts = await self._contents(row)
        resources = {part.name: documents.decode_any(part.document) for part in parts}
        taken = {**dict(stack), "tags": row["tags"], "status": row["status"]}
        return {**views.snapshot(row),
                "data": await self._inputs.export_document(taken, input_, resources, hidden=hidden)}

    async def delete(self, name_or_id: str, snapshot: str) -> None:
        """Delete a snapshot and the data that types keep for it. Workers delete it; until then it is listed."""
        _, row = await self._find_snapshot(name_or_id, snapshot)
        now = self._ports.clock.now()
        await self._ports.store.write(lambda connection: snapshots.mark_for_deletion(connection, row["id"], now))
        self._ports.wake(row["stack_id"])

    async def restore(self, name_or_id: str, snapshot: str, generation: int | None = None) -> Accepted:
        """Update the stack to its state in the snapshot. `generation`: the one that the caller has seen."""
        stack, request = await self.restoration(name_or_id, snapshot)
        expect_seen(stack, generation)
        refuse_suspended(stack)
        goal = await self._acceptor.desire(request, stack["name"], stack["id"])
        acceptance = await self._acceptor.acceptance(stack["id"], stack["generation"], Action.RESTORE, request, goal)
        moves = request.moves(goal)

        def write_plan(connection: Connection, operation_id: str, now: float) -> None:
            move.carry_out(connection, stack["id"], stack["generation"] + 1, moves, now)
            plan.write(connection, operation_id, goal.wanted, now)

        return await self._acceptor.supersede(acceptance, write_plan)

    async def restoration(self, name_or_id: str, snapshot: str) -> tuple[lookups.Row, Request]:
        """Return a stack, and the request that updates it to its state in the snapshot."""
        stack, row = await self._find_snapshot(name_or_id, snapshot)
        if (row["action"], row["status"]) != (Action.CREATE, Status.COMPLETE):
            raise errors.UserError("Restoring incomplete snapshot is not supported.", kind="NotSupported")
        input_, parts = await self._contents(row)
        generation = await self._ports.store.read(
            lambda connection: move.generation_at(connection, stack["id"], row["created_at"]))
        kept = {part.name: documents.decode_any(part.document)["snapshot"] for part in parts}
        return stack, Request(
            input_.template, input_.files, input_.environment, bool(stack["disable_rollback"]), stack["timeout_s"],
            documents.decode_any(row["tags"]),
            {**input_.restored, **{name: data for name, data in kept.items() if data is not None}}, input_.secrets,
            names_of=generation, parts=input_.parts,
        )

    async def _contents(self, row: lookups.Row) -> tuple[desired.StackInput, Sequence[Part]]:
        def unit(connection: Connection) -> tuple[desired.StackInput, Sequence[Part]]:
            return planner.input_of(connection, row["stack_id"], row["input"]), snapshots.parts(connection, row["id"])

        return await self._ports.store.read(unit)

    async def _find_snapshot(self, name_or_id: str, snapshot: str) -> tuple[lookups.Row, lookups.Row]:
        """Return the rows of a stack and of its snapshot, by the snapshot's id or its name if no other has it."""
        stack = await self._stacks.row(name_or_id)
        found = await self._ports.store.read(lambda connection: snapshots.of_stack(connection, stack["id"]))
        matches = [row for row in found if row["id"] == snapshot] or [row for row in found if row["name"] == snapshot]
        if len(matches) > 1:
            raise errors.Conflict(f"Stack {stack['name']} has several snapshots that are called {snapshot}.",
                                  hint="Name it by its id.")
        if not matches:
            raise errors.NotFound(f"Snapshot with id {snapshot} not found", kind="NotFound",
                                  hint=f"`isotherm snapshot list {stack['name']}` shows what there is.")
        return stack, matches[0]
