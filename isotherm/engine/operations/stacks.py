"""Operations on stacks: create, update, delete, rollback, cancel, check, suspend, resume.

Each is accepted at any time, in any state of the stack, and becomes the newest operation of its stack. Workers do the rest.
"""

from __future__ import annotations

from isotherm import errors
from isotherm.engine.operations import patch
from isotherm.engine.operations.accept import Accepted, Acceptor, Request, refuse_deleted, refuse_suspended
from isotherm.engine.operations.patch import Patch
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.queries.stacks import StackQueries
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import names
from isotherm.states import Action, Status
from isotherm.store.database.writer import Connection
from isotherm.store.operations import accept, plan, stop, visit
from isotherm.store.reads import lookups


class StackService(StackQueries):
    """Operates on the stacks of one project, and reads them."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        super().__init__(ports.store, requester.project)
        self._ports = ports
        self._inputs = StackInputs(ports, requester.project)
        self._acceptor = Acceptor(ports, requester)

    async def create(self, name: str, request: Request) -> Accepted:
        names.check_stack_name(name)
        stack_id = self._ports.new_id()
        goal = await self._acceptor.desire(request, name, stack_id)
        acceptance = await self._acceptor.acceptance(stack_id, 0, Action.CREATE, request, goal)
        new = self._acceptor.new_stack(stack_id, name)
        return await self._acceptor.create(new, acceptance, lambda c, id_, now: plan.write(c, id_, goal.wanted, now))

    async def update(self, name_or_id: str, change: Request | Patch) -> Accepted:
        """Update a stack to a whole request, or by a change of its present input."""
        stack = await self._stacks.row(name_or_id)
        refuse_suspended(stack)
        request = change if isinstance(change, Request) else await patch.patched(self._inputs, stack, change)
        goal = await self._acceptor.desire(request, stack["name"], stack["id"])
        await self._inputs.refuse_immutable(stack, goal)
        acceptance = await self._acceptor.acceptance(stack["id"], stack["generation"], Action.UPDATE, request, goal)
        return await self._acceptor.supersede(acceptance, lambda c, id_, now: plan.write(c, id_, goal.wanted, now))

    async def delete(self, name_or_id: str) -> Accepted:
        stack = await self._stacks.row(name_or_id)
        acceptance = self._acceptor.repetition(stack, Action.DELETE)
        return await self._acceptor.supersede(acceptance, lambda c, id_, now: plan.write(c, id_, [], now))

    async def rollback(self, name_or_id: str) -> Accepted:
        """Go back to the last operation that reached COMPLETE, or to an empty stack if there is none."""
        stack = await self._stacks.row(name_or_id)
        operation_id = self._ports.new_id()

        def unit(connection: Connection) -> int:
            _expect_generation(connection, stack)
            accept.roll_back(connection, stack["id"], operation_id, self._ports.clock.now(), "Rollback was asked for")
            return int(stack["generation"]) + 1

        await self._acceptor.ask_plugins(stack["id"], Action.ROLLBACK)
        generation = await self._store.write(unit)
        self._ports.wake(stack["id"])
        return Accepted(stack["id"], operation_id, generation)

    async def cancel(self, name_or_id: str, *, rollback: bool = True) -> Accepted:
        """Stop the running operation; then roll back, or leave the stack as it is."""
        stack = await self._stacks.row(name_or_id)
        if stack["status"] != Status.IN_PROGRESS:
            raise errors.UserError(f"Nothing is running on stack {stack['name']}.", kind="NotSupported",
                                   hint="Only an operation that is in progress can be cancelled.")
        if rollback:
            return await self.rollback(name_or_id)
        reason = f"Stack {Action(stack['action']).name} cancelled"

        def unit(connection: Connection) -> str:
            _expect_generation(connection, stack)
            return stop.cancel(connection, stack["id"], reason, self._ports.clock.now())

        operation_id = await self._store.write(unit)
        self._ports.wake(stack["id"])
        return Accepted(stack["id"], operation_id, stack["generation"])

    async def check(self, name_or_id: str) -> Accepted:
        """Check every resource against its cloud."""
        return await self._visit(name_or_id, Action.CHECK)

    async def suspend(self, name_or_id: str) -> Accepted:
        """Suspend every resource, dependants first."""
        refuse_deleted(await self._stacks.row(name_or_id))
        return await self._visit(name_or_id, Action.SUSPEND)

    async def resume(self, name_or_id: str) -> Accepted:
        """Resume every suspended resource, requirements first."""
        return await self._visit(name_or_id, Action.RESUME)

    async def _visit(self, name_or_id: str, action: Action) -> Accepted:
        stack = await self._stacks.row(name_or_id)
        return await self._acceptor.supersede(self._acceptor.repetition(stack, action), visit.write)


def _expect_generation(connection: Connection, stack: lookups.Row) -> None:
    """Raise Conflict if a newer operation was accepted since `stack` was read."""
    found = lookups.stack(connection, stack["project"], stack["id"])
    if found is None or found["generation"] != stack["generation"]:
        raise errors.Conflict("Another operation on this stack was accepted at the same moment.", kind="ActionInProgress",
                              hint="Look at the stack, and ask again if you still want it.")
