"""The Orchestrator: everything that can be asked of stacks. The one door for the API, the command line and the page.

Each operation is accepted at any time, in any state: it becomes the newest of its stack, and whoever loses a race for
that place is told so. What follows is the workers' business; `wake` is called to spare them the wait.
"""

from __future__ import annotations

from typing import Any

from isotherm import errors
from isotherm.engine.accept import Accepted, Request, refuse_deleted, refuse_suspended
from isotherm.engine.operations import patch as patch_operations
from isotherm.engine.operations.drift import Drifting
from isotherm.engine.operations.export import Abandoned, Moving
from isotherm.engine.operations.patch import Patch
from isotherm.engine.operations.signals import Signalling
from isotherm.engine.operations.snapshots import Snapshotting
from isotherm.engine.operations.software import Deploying
from isotherm.engine.operations.validate import Validating
from isotherm.engine.preview import update_preview
from isotherm.engine.preview.heat_api import Foreseeing
from isotherm.engine.preview.preview_tree import Place
from isotherm.engine.queries.events import EventReading
from isotherm.engine.queries.inputs import Describing
from isotherm.engine.queries.outputs import OutputReading
from isotherm.planning import desired, documents, names
from isotherm.states import Action, Status
from isotherm.store import limits
from isotherm.store.database.writer import Connection
from isotherm.store.operations import accept, plan, stop, visit
from isotherm.store.reads import lookups
from isotherm.store.records import NewStack
from isotherm.template.parameters import parameters

__all__ = ["Abandoned", "Accepted", "Orchestrator", "Patch", "Request"]


class Orchestrator(
    Signalling, Snapshotting, Moving, Describing, Deploying, Drifting, EventReading, OutputReading, Validating,
    Foreseeing,
):
    """Operations on the stacks of one project, and all that can be read of them."""

    # Operations.

    async def create(self, name: str, request: Request) -> Accepted:
        names.check_stack_name(name)
        stack_id = self._new_id()
        goal = await self._desire(request, name, stack_id)
        acceptance = await self._acceptance(stack_id, 0, Action.CREATE, request, goal)
        stack = NewStack(stack_id, self._project, name, self._settings.convergence_engine,
                         username=self._username)

        def unit(connection: Connection) -> None:
            now = self._clock.now()
            limits.stacks(connection, self._project, self._settings.max_stacks_per_tenant)
            accept.create(connection, stack, acceptance, now)
            plan.write(connection, acceptance.operation_id, goal.wanted, now)

        await self._store.write(unit)
        self._wake(stack_id)
        return Accepted(stack_id, acceptance.operation_id, 1)

    async def update(self, name_or_id: str, change: Request | Patch) -> Accepted:
        """Bring a stack to what is asked for: whole, or as a change of what it is now."""
        stack = await self._find(name_or_id)
        refuse_suspended(stack)
        request = change if isinstance(change, Request) else await self._patched(stack, change)
        goal = await self._desire(request, stack["name"], stack["id"])
        await self._refuse_immutable(stack, goal)
        acceptance = await self._acceptance(stack["id"], stack["generation"], Action.UPDATE, request, goal)
        return await self._supersede(acceptance, lambda c, id_, now: plan.write(c, id_, goal.wanted, now))

    async def delete(self, name_or_id: str) -> Accepted:
        stack = await self._find(name_or_id)
        return await self._supersede(self._again(stack, Action.DELETE), lambda c, id_, now: plan.write(c, id_, [], now))

    async def rollback(self, name_or_id: str) -> Accepted:
        """Back to the last operation that was completed, or to nothing if there is none."""
        stack = await self._find(name_or_id)
        operation_id = self._new_id()

        def unit(connection: Connection) -> int:
            _expect(connection, stack)
            accept.roll_back(connection, stack["id"], operation_id, self._clock.now(), "Rollback was asked for")
            return int(stack["generation"]) + 1

        generation = await self._store.write(unit)
        self._wake(stack["id"])
        return Accepted(stack["id"], operation_id, generation)

    async def cancel(self, name_or_id: str, *, rollback: bool = True) -> Accepted:
        """Stop what is running: go back to the last good state, or stay where it is."""
        stack = await self._find(name_or_id)
        if stack["status"] != Status.IN_PROGRESS:
            raise errors.UserError(f"Nothing is running on stack {stack['name']}.", kind="NotSupported",
                                   hint="Only an operation that is in progress can be cancelled.")
        if rollback:
            return await self.rollback(name_or_id)
        reason = f"Stack {Action(stack['action']).name} cancelled"

        def unit(connection: Connection) -> str:
            _expect(connection, stack)
            return stop.cancel(connection, stack["id"], reason, self._clock.now())

        operation_id = await self._store.write(unit)
        self._wake(stack["id"])
        return Accepted(stack["id"], operation_id, stack["generation"])

    async def check(self, name_or_id: str) -> Accepted:
        """Ask every resource whether its object is still there."""
        return await self._visit(name_or_id, Action.CHECK)

    async def suspend(self, name_or_id: str) -> Accepted:
        """Put every resource to rest, dependants first."""
        refuse_deleted(await self._find(name_or_id))
        return await self._visit(name_or_id, Action.SUSPEND)

    async def resume(self, name_or_id: str) -> Accepted:
        """Wake every resource that was put to rest, requirements first."""
        return await self._visit(name_or_id, Action.RESUME)

    async def _visit(self, name_or_id: str, action: Action) -> Accepted:
        stack = await self._find(name_or_id)
        return await self._supersede(self._again(stack, action), visit.write)

    async def preview(self, name: str, change: Request | Patch) -> update_preview.Preview:
        """What an update to this request (or a create, if there is no such stack) would do; nothing is changed."""
        found = await self._store.read(lambda connection: lookups.stack(connection, self._project, name))
        living = found if found is not None and not found["tomb"] else None
        if isinstance(change, Patch):
            change = await self._patched(await self._find(name), change)
        goal = await self._desire(change, name, living["id"] if living else "None")
        place = Place(name, living["id"] if living else None)
        items = await self._foresight().items(change.asked, goal, place)
        secrets = await self._secrets(living, change.asked)
        return update_preview.Preview(await self._planning.compute(
            change.asked.size, lambda: [update_preview.without(secrets, item) for item in items]))

    async def preview_update(self, name_or_id: str, change: Patch, *, nested: bool = False) -> dict[str, Any]:
        """What an update would do, by kind, in Heat's words; `nested`: inside stacks as well."""
        stack = await self._find(name_or_id)
        request = await self._patched(stack, change)
        found = await self._changes(stack, request, nested=nested)
        await self._refuse_immutable(stack, await self._desire(request, stack["name"], stack["id"]))
        return found

    async def outputs(self, name_or_id: str) -> list[dict[str, Any]]:
        row = await self._find(name_or_id)
        return await self._inside().output_views(row, secrets=await self._secrets(row))

    # Inside.

    async def _patched(self, stack: lookups.Row, patch: Patch) -> Request:
        """The whole request that the change amounts to. It holds for the generation of `stack`, and no other."""
        operation = await self._operation(stack)
        if patch.template is not None and (operation is None or not operation.input):
            present = desired.Asked(patch.template, {}, {})  # it was rolled back to nothing, and nothing is kept
        else:
            present = await self._asked(stack)
        asked = patch_operations.apply(present, patch)
        return Request(
            asked.template, asked.files, asked.environment,
            bool(stack["disable_rollback"]) if patch.disable_rollback is None else patch.disable_rollback,
            stack["timeout_s"] if patch.timeout_s is None else patch.timeout_s,
            documents.decode_any(stack["tags"]) if patch.tags is None else patch.tags, asked.restored,
            asked.secrets, patch.converge,
        )

    async def _refuse_immutable(self, stack: lookups.Row, goal: desired.Desired) -> None:
        template = goal.bound.template
        if not any(schema.immutable for schema in template.parameters.values()):
            return
        operation = await self._operation(stack)
        if operation is not None and operation.input:
            before = (await self._planning.face(operation)).values
            parameters.refuse_immutable(template.parameters, before, goal.values)


def _expect(connection: Connection, stack: lookups.Row) -> None:
    """Refuse to act on a stack that has moved on since the user looked at it."""
    found = lookups.stack(connection, stack["project"], stack["id"])
    if found is None or found["generation"] != stack["generation"]:
        raise errors.Conflict("Another operation on this stack was accepted at the same moment.", kind="ActionInProgress",
                              hint="Look at the stack, and ask again if you still want it.")

