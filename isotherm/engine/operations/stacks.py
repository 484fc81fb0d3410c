"""Operations on stacks: create, update, delete, rollback, cancel, check, suspend, resume.

Each is accepted at any time, in any state of the stack, and becomes the newest operation of its stack. Workers do the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from isotherm import errors
from isotherm.engine.operations import limited, patch
from isotherm.engine.operations.accept import Accepted, Acceptor, Request, refuse_deleted, refuse_moves, refuse_suspended
from isotherm.engine.operations.history import PastInput
from isotherm.engine.operations.patch import Change, Patch
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackQueries
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import names
from isotherm.states import Action, Status
from isotherm.store.database.writer import Connection
from isotherm.store.operations import accept, move, plan, stop, visit
from isotherm.store.reads import lookups
from isotherm.store.versions import protection, readers


class StackService(StackQueries):
    """Operates on the stacks of one project, and reads them."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        super().__init__(ports.store, requester.project)
        self._ports = ports
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)
        self._project = requester.project
        self._username = requester.username

    async def create(self, name: str, request: Request) -> Accepted:
        names.check_stack_name(name)
        refuse_moves(request)
        stack_id = self._ports.new_id()
        goal = await self._acceptor.desire(request, name, stack_id)
        new_row = {"id": stack_id, "name": name, "project": self._project}
        request, goal, scope = await limited.limit(self._ports, new_row, request, goal)
        acceptance = await self._acceptor.acceptance(stack_id, 0, Action.CREATE, request, goal, scope)
        new = self._acceptor.new_stack(stack_id, name)
        return await self._acceptor.create(new, acceptance, lambda c, id_, now: plan.write(c, id_, goal.wanted, now))

    async def update(self, name_or_id: str, change: Change, *, generation: int | None = None) -> Accepted:
        """Update a stack to a whole request, by a change of its present input, or back to a past input.

        `generation` is the one that the caller has seen: if a newer operation was accepted, this one is refused.
        """
        stack = await self._seen(name_or_id, generation)
        refuse_suspended(stack)
        request = await patch.whole(self._inputs, stack, change)
        goal = await self._acceptor.desire(request, stack["name"], stack["id"])
        await self._inputs.refuse_immutable(stack, goal)
        request, goal, scope = await limited.limit(self._ports, stack, request, goal)
        acceptance = await self._acceptor.acceptance(
            stack["id"], stack["generation"], Action.UPDATE, request, goal, scope)
        if isinstance(change, PastInput):
            acceptance = msgspec.structs.replace(
                acceptance, reason=f"Stack UPDATE started: back to generation {change.generation}")
        moves = request.moves(goal)

        def write_plan(connection: Connection, operation_id: str, now: float) -> None:
            move.carry_out(connection, stack["id"], stack["generation"] + 1, moves, now)
            plan.write(connection, operation_id, goal.wanted, now)

        return await self._acceptor.supersede(acceptance, write_plan)

    async def retry(
        self, name_or_id: str, names: Sequence[str] = (), *, generation: int | None = None
    ) -> Accepted:
        """Go on with what failed or was left out, with the input that the stack has; a failed delete is repeated.

        With `names`: only with these resources, and with what they need.
        """
        stack = await self._seen(name_or_id, generation)
        if stack["action"] != Action.DELETE:
            return await self.update(name_or_id, Patch(target=names), generation=stack["generation"])
        if names:
            raise errors.UserError(f"Stack {stack['name']} is being deleted as a whole.", kind="NotSupported",
                                   hint="Retry it without names, or update it to have it back.")
        return await self.delete(name_or_id, generation=stack["generation"])

    async def delete(self, name_or_id: str, *, generation: int | None = None, force: bool = False) -> Accepted:
        """Delete a stack; with `force`, also one whose outputs other stacks read."""
        stack = await self._seen(name_or_id, generation)
        acceptance = self._acceptor.repetition(stack, Action.DELETE)

        def write(connection: Connection, operation_id: str, now: float) -> None:
            protection.refuse_delete(connection, stack["id"])
            # A deletion that is repeated was allowed before.
            if not force and stack["action"] != Action.DELETE:
                readers.refuse_leaving(connection, stack["project"], stack["id"], "delete")
            plan.write(connection, operation_id, [], now)

        return await self._acceptor.supersede(acceptance, write)

    async def rollback(self, name_or_id: str, *, to: int | None = None, generation: int | None = None) -> Accepted:
        """Go back to the last operation that reached COMPLETE, or to an empty stack if there is none.

        With `to`: update the stack to the input of this generation, which the history has.
        """
        if to is not None:
            return await self.update(name_or_id, PastInput(to), generation=generation)
        stack = await self._seen(name_or_id, generation)
        operation_id = self._ports.new_id()

        def unit(connection: Connection) -> int:
            _expect_generation(connection, stack)
            protection.refuse_change(connection, stack["id"])
            accept.roll_back(connection, stack["id"], operation_id, self._ports.clock.now(), "Rollback was asked for",
                             self._username)
            return int(stack["generation"]) + 1

        await self._acceptor.check_allowed(stack["id"], Action.ROLLBACK)
        generation = await self._store.write(unit)
        self._ports.wake(stack["id"])
        return Accepted(stack["id"], operation_id, generation)

    async def cancel(self, name_or_id: str, *, rollback: bool = True, generation: int | None = None) -> Accepted:
        """Stop the running operation; then roll back, or leave the stack as it is."""
        stack = await self._seen(name_or_id, generation)
        if stack["status"] != Status.IN_PROGRESS:
            raise nothing_runs(stack["name"])
        if rollback:
            return await self.rollback(name_or_id, generation=generation)
        reason = f"Stack {Action(stack['action']).name} cancelled"

        def unit(connection: Connection) -> str:
            _expect_generation(connection, stack)
            return stop.cancel(connection, stack["id"], reason, self._ports.clock.now())

        operation_id = await self._store.write(unit)
        self._ports.wake(stack["id"])
        return Accepted(stack["id"], operation_id, stack["generation"])

    async def check(self, name_or_id: str, *, generation: int | None = None) -> Accepted:
        """Check every resource against its cloud."""
        return await self._visit(name_or_id, Action.CHECK, generation)

    async def suspend(self, name_or_id: str, *, generation: int | None = None) -> Accepted:
        """Suspend every resource, dependants first."""
        refuse_deleted(await self._stacks.row(name_or_id))
        return await self._visit(name_or_id, Action.SUSPEND, generation)

    async def resume(self, name_or_id: str, *, generation: int | None = None) -> Accepted:
        """Resume every suspended resource, requirements first."""
        return await self._visit(name_or_id, Action.RESUME, generation)

    async def _visit(self, name_or_id: str, action: Action, generation: int | None) -> Accepted:
        stack = await self._seen(name_or_id, generation)
        return await self._acceptor.supersede(self._acceptor.repetition(stack, action), visit.write)

    async def _seen(self, name_or_id: str, generation: int | None) -> lookups.Row:
        """Return the row of a stack. Raises Conflict if its generation is not the one that the caller has seen.

        Acceptance compares the generation of this row again, in its transaction.
        """
        stack = await self._stacks.row(name_or_id)
        expect_seen(stack, generation)
        return stack


def expect_seen(stack: lookups.Row, generation: int | None) -> None:
    """Raise Conflict if the caller has seen another generation of the stack."""
    if generation is not None and stack["generation"] != generation:
        raise errors.Conflict(
            f"Stack {stack['name']} is at generation {stack['generation']}, and no longer at {generation}: another "
            "operation was accepted meanwhile.", kind="GenerationMoved", hint="Look at the stack, and plan again.")


def nothing_runs(name: str) -> errors.UserError:
    """Return the error of a cancellation of nothing."""
    return errors.UserError(f"Nothing is running on stack {name}.", kind="NotSupported",
                            hint="Only an operation that is in progress can be cancelled.")


def _expect_generation(connection: Connection, stack: lookups.Row) -> None:
    """Raise Conflict if a newer operation was accepted since `stack` was read."""
    found = lookups.stack(connection, stack["project"], stack["id"])
    if found is None or found["generation"] != stack["generation"]:
        raise errors.Conflict("Another operation on this stack was accepted at the same moment.", kind="ActionInProgress",
                              hint="Look at the stack, and ask again if you still want it.")
