"""Moves of resources between the stacks of a project; their objects are not touched.

Both stacks must be COMPLETE. Their templates are rewritten, and the rows moved, in one transaction (`store.hand_over`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.operations.accept import Acceptor, Request, refuse_suspended
from isotherm.engine.operations.stacks import expect_seen
from isotherm.engine.ownership import move_checks
from isotherm.engine.ownership.move_checks import MoveRequest, Side
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, documents
from isotherm.states import Action
from isotherm.store import hand_over
from isotherm.store.database.writer import Connection
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance, Input, Version


@dataclass(frozen=True, slots=True)
class _Prepared:
    """One of the two operations: its request, its desired state, and the record to accept."""

    acceptance: Acceptance
    goal: desired.Desired


class MoveService:
    """Moves resources between the stacks of one project."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._project = requester.project
        self._stacks = StackFinder(ports.store, requester.project)
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def move(
        self, name_or_id: str, name: str, to: str, new_name: str = "", *, with_values: bool = False,
        generation: int | None = None,
    ) -> dict[str, Any]:
        """Move a resource to another stack, under its name or a new one. Raises UserError with all that keeps it.

        `with_values`: what its definition refers to in its stack is replaced by its present value. `generation` is that of
        its stack which the caller has seen.
        """
        rows = [await self._row(name_or_id), await self._row(to)]
        expect_seen(rows[0], generation)
        if rows[0]["id"] == rows[1]["id"]:
            raise errors.UserError(f"Stack {rows[0]['name']} has the resource already.", kind="ValueError",
                                   hint="`isotherm update STACK --move OLD=NEW` renames a resource within its stack.")
        asked = MoveRequest(name, new_name or name, with_values)
        home, target = [await self._side(row) for row in rows]
        published = await self._published(rows[0])
        types, size = self._ports.types, home.input.size + target.input.size
        plan = await self._inputs.compute(size, lambda: move_checks.plan(home, target, asked, published, types))
        leaving, arriving = [await self._prepare(row, input_, asked, rows) for row, input_ in
                             zip(rows, (plan.home, plan.target), strict=True)]
        wanted, restated = await self._inputs.compute(
            size, lambda: move_checks.compared(home, target, asked, (leaving.goal, arriving.goal), published))

        def unit(connection: Connection) -> Version:
            return hand_over.write(
                connection, hand_over.Leaving(leaving.acceptance, name, restated),
                hand_over.Arriving(arriving.acceptance, wanted), self._ports.clock.now())

        for row in rows:
            await self._acceptor.check_allowed(row["id"], Action.UPDATE)
        moved = await self._ports.store.write(unit)
        self._ports.wake(rows[0]["id"], rows[1]["id"])
        return {"resource_type": moved.type, "physical_resource_id": moved.physical_id,
                "from": _place(rows[0], name), "to": _place(rows[1], asked.new_name)}

    async def _row(self, name_or_id: str) -> lookups.Row:
        row = await self._stacks.row(name_or_id)
        refuse_suspended(row)
        hand_over.refuse_unready(row)
        if row["owner_id"] is not None:
            raise errors.UserError(f"Stack {row['name']} is nested: the outer stack has its template.", kind="NotSupported",
                                   hint="Resources move between root stacks only.")
        return row

    async def _side(self, row: lookups.Row) -> Side:
        input_ = await self._inputs.input(row)
        identity = desired.Identity(row["name"], row["id"], self._project)
        return await self._inputs.compute(input_.size, lambda: move_checks.side(input_, identity, self._ports.types))

    async def _published(self, row: lookups.Row) -> list[Input]:
        found = await self._ports.store.read(lambda connection: lookups.published(connection, row["id"], None))
        return [Input(name, id_, text) for name, id_, text in found]

    async def _prepare(
        self, row: lookups.Row, input_: desired.StackInput, asked: MoveRequest, rows: list[lookups.Row]
    ) -> _Prepared:
        """Validate the new input of a stack, and return the operation that gives it to the stack."""
        request = Request(input_.template, input_.files, input_.environment, bool(row["disable_rollback"]),
                          row["timeout_s"], documents.decode_any(row["tags"]), input_.restored, input_.secrets)
        goal = await self._acceptor.desire(request, row["name"], row["id"])
        acceptance = await self._acceptor.acceptance(row["id"], row["generation"], Action.UPDATE, request, goal)
        reason = f"Resource {asked.name} of stack {rows[0]['name']} moves to {asked.new_name} of stack {rows[1]['name']}"
        # Each stack keeps the credential that it has: one credential cannot be bound to two stacks.
        return _Prepared(replace(acceptance, reason=reason, stays=True, credential=""), goal)


def _place(row: lookups.Row, name: str) -> dict[str, Any]:
    return {"stack_name": row["name"], "stack_id": row["id"], "generation": row["generation"] + 1, "resource_name": name}
