"""Stacks inside stacks, as a resource that is one sees them: the port `contract.Stacks`, for one resource at a time.

A stack inside is an ordinary stack with an owner. What is asked of it is accepted in a transaction of its own, on
condition that whoever asks still holds the lease of the resource around it (its fence), so that a worker that was
overtaken cannot touch it. It never has longer than the operation around it, and never rolls back by itself: that is
decided outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine import allowance, concealing, desired, inside, requests
from isotherm.engine.planning import Planning, asked_for
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.states import Action, OperationState
from isotherm.store import accept, claim, limits, plan, reads, rows
from isotherm.store.database import Connection, Store
from isotherm.store.records import Acceptance, Claim, NewStack


class Nesting:
    """What all resources of a worker share to have stacks inside."""

    def __init__(  # noqa: PLR0913 - the ports of what is inside, one each
        self, store: Store, types: Registry, planning: Planning, clock: contract.Clock, new_id: Callable[[], str],
        wake: Callable[[], None] = lambda: None, settings: Settings = Settings(),  # noqa: B008 - frozen
    ) -> None:
        self.store = store
        self.types = types
        self.planning = planning
        self.clock = clock
        self.new_id = new_id
        self.wake = wake
        self.settings = settings
        self.bounds = allowance.bounds(settings)

    def of(self, around: Claim, facade: Mapping[str, Any]) -> contract.Stacks:
        """The port for one resource. `facade` is what the stack inside may read of it."""
        return _Inside(self, around, facade)


class _Inside(inside.Inside):
    """The port, for the resource of one claim."""

    def __init__(self, nesting: Nesting, around: Claim, facade: Mapping[str, Any]) -> None:
        super().__init__(inside.Access(nesting.store, nesting.planning, nesting.clock, around.operation.project))
        self._nesting = nesting
        self._around = around
        self._facade = facade

    async def create(self, name: str, child: contract.Child) -> tuple[str, str]:
        found = await self.find(name, owned=child.owned)
        if found is not None:
            return found, await self.update(found, child)
        stack_id = self._nesting.new_id()
        asked = await self._asked(child)
        goal = self._desire(asked, name, stack_id)
        acceptance = self._acceptance(stack_id, 0, Action.CREATE, asked, child)

        def unit(connection: Connection) -> None:
            now = self._nesting.clock.now()
            around = self._still_ours(connection)
            depth = int(around["depth"]) + 1
            if depth > self._nesting.bounds.depth:
                raise limits.exceeded(f"Recursion depth exceeds {self._nesting.bounds.depth}.")
            owner, depth = (self._around.stack_id, depth) if child.owned else (None, 0)
            path = bool(around["convergence"]) if child.owned else self._nesting.settings.convergence_engine
            if owner is None:
                limits.stacks(connection, self._project, self._nesting.settings.max_stacks_per_tenant)
            bounded = self._bounded(connection, acceptance, now)
            accept.create(connection, NewStack(stack_id, self._project, name, path, owner, depth), bounded, now)
            self._plan(connection, acceptance, goal, now)

        await self._write(unit)
        return stack_id, acceptance.operation_id

    async def update(self, stack_id: str, child: contract.Child) -> str:
        stack = await self.stack(stack_id)
        asked = await self._asked(child)
        goal = self._desire(asked, stack["name"], stack_id)
        acceptance = self._acceptance(stack_id, stack["generation"], Action.UPDATE, asked, child)
        return await self._supersede(acceptance, lambda c, now: self._plan(c, acceptance, goal, now))

    async def act(self, stack_id: str, action: Action) -> str | None:
        found = await self._nesting.store.read(lambda connection: reads.stack(connection, self._project, stack_id))
        if found is None or found["tomb"]:
            return None
        acceptance = Acceptance(stack_id, found["generation"], self._nesting.new_id(), action, "",
                                disable_rollback=True, timeout_s=None, reason=f"Stack {action.name} started",
                                input_of=found["operation_id"])
        return await self._supersede(acceptance, lambda c, now: requests.plan_action(c, acceptance, now))

    async def ending(self, stack_id: str, operation_id: str | None = None) -> contract.Ending:
        def unit(connection: Connection) -> contract.Ending:
            stack = reads.stack(connection, self._project, stack_id)
            if stack is None:
                return contract.Ending(f"stack {stack_id} is gone")
            operation = rows.operation(connection, operation_id or stack["operation_id"])
            if operation is None or operation.state == OperationState.SUPERSEDED:
                # It was overtaken, by a user who spoke to the stack inside: what counts is what he wanted.
                operation = rows.operation(connection, stack["operation_id"])
            if operation is None:
                raise errors.Bug(f"stack {stack_id} has no operation")
            unfinished = operation.state in accept.UNFINISHED
            return contract.Ending(awaits=operation.id) if unfinished else contract.Ending(operation.failure or "")

        return await self._nesting.store.read(unit)

    async def find(self, name: str, *, owned: bool = True) -> str | None:
        found = await self._nesting.store.read(lambda connection: reads.stack(connection, self._project, name))
        owner = self._around.stack_id if owned else None
        return None if found is None or found["owner_id"] != owner else str(found["id"])

    async def cancelled(self) -> bool:
        return await self._nesting.store.read(lambda connection: reads.is_cancelled(connection, self._around.operation.id))

    async def time_left_s(self) -> float | None:
        read = self._nesting.store.read
        deadline = await read(lambda connection: reads.deadline(connection, self._around.operation.id))
        return None if deadline is None else deadline - self._nesting.clock.now()

    # What the methods share.

    @property
    def _project(self) -> str:
        return self._around.operation.project

    def _desire(self, asked: desired.Asked, name: str, stack_id: str) -> desired.Desired:
        identity = desired.Identity(name, stack_id, self._project)
        return desired.desire(asked, identity, self._nesting.types, bounds=self._nesting.bounds)

    def _plan(self, connection: Connection, acceptance: Acceptance, goal: desired.Desired, now: float) -> None:
        plan.write(connection, acceptance.operation_id, goal.wanted, now)
        limits.resources(connection, acceptance.stack_id, self._nesting.settings.max_resources_per_stack)

    async def _asked(self, child: contract.Child) -> desired.Asked:
        """What the stack inside is made of: its own template, and what the stack around has in files and environment."""
        outer = self._around.operation
        around = await self._nesting.store.read(lambda connection: asked_for(connection, outer.stack_id, outer.input))
        secrets = await self._nesting.planning.secrets(outer)
        return concealing.inner(around, self._around.name, child, self._facade, secrets)

    def _acceptance(
        self, stack_id: str, generation: int, action: Action, asked: desired.Asked, child: contract.Child
    ) -> Acceptance:
        input_, blobs = requests.stored(asked)
        return Acceptance(stack_id, generation, self._nesting.new_id(), action, input_, disable_rollback=True,
                          timeout_s=child.timeout_s, blobs=blobs, reason=f"Stack {action.name} started",
                          converge=action is Action.UPDATE and self._around.operation.converge)

    def _still_ours(self, connection: Connection) -> reads.Row:
        """The stack around, if the resource is still ours to act on."""
        if self._around.key not in claim.held(connection, [self._around]):
            raise errors.Superseded("the resource around this stack is somebody else's now")
        if reads.is_cancelled(connection, self._around.operation.id):
            raise errors.Permanent("the operation around this stack was cancelled")
        found = reads.stack(connection, self._project, self._around.stack_id)
        if found is None:
            raise errors.Superseded("the stack around this stack is gone")
        return found

    def _bounded(self, connection: Connection, acceptance: Acceptance, now: float) -> Acceptance:
        """It never has longer than the operation around it."""
        deadline = reads.deadline(connection, self._around.operation.id)
        if deadline is None:
            return acceptance
        left = deadline - now
        if left <= 0:
            raise errors.Superseded("the operation around this stack has no time left, and is about to be ended")
        return requests.with_timeout(acceptance, left if acceptance.timeout_s is None else min(left, acceptance.timeout_s))

    async def _supersede(self, acceptance: Acceptance, write_plan: Callable[[Connection, float], None]) -> str:
        def unit(connection: Connection) -> None:
            now = self._nesting.clock.now()
            self._still_ours(connection)
            accept.supersede(connection, self._bounded(connection, acceptance, now), now, preempt=True)
            write_plan(connection, now)

        await self._write(unit)
        return acceptance.operation_id

    async def _write(self, unit: Callable[[Connection], None]) -> None:
        try:
            await self._nesting.store.write(unit)
        except errors.Conflict as error:
            # Somebody spoke to the stack inside at the same moment: look again.
            raise errors.Temporary(str(error), retry_after_s=0.1) from error
        self._nesting.wake()

