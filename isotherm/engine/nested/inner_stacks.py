"""Creates and changes nested stacks: the port `contract.Stacks`, for one resource at a time.

A nested stack is an ordinary stack with an owner. Its operations are accepted in transactions of their own, on condition
that the caller still holds the lease of the resource that holds the stack (its fence), so that a superseded worker cannot
change it. A nested operation never has more time than the outer one, and does not roll back by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.nested import inner_reads
from isotherm.planning import desired, masking, off_loop, request_limits, requests
from isotherm.planning.planner import Planning, input_of
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.states import UNFINISHED, Action, OperationState
from isotherm.store import limits, rows
from isotherm.store.database.writer import Connection, Store
from isotherm.store.operations import accept, plan
from isotherm.store.queue import claim
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance, Claim, NewStack, OperationScope
from isotherm.store.versions import protection
from isotherm.template import environment


class InnerStacksFactory:
    """Makes the port of nested stacks for the resources of a worker."""

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
        self.bounds = request_limits.bounds(settings)

    def of(self, around: Claim, resource: masking.OuterResource) -> contract.Stacks:
        """Return the port for the resource of the claim."""
        return _InnerStacks(self, around, resource)


class _InnerStacks(inner_reads.InnerStackReader):
    """The port for the resource of one claim."""

    def __init__(self, nesting: InnerStacksFactory, around: Claim, resource: masking.OuterResource) -> None:
        super().__init__(inner_reads.Access(nesting.store, nesting.planning, nesting.clock, around.operation.project))
        self._nesting = nesting
        self._around = around
        self._resource = resource

    async def create(self, name: str, child: contract.Child) -> tuple[str, str]:
        found = await self.find(name, owned=child.owned)
        if found is not None:
            return found, await self.update(found, child)
        stack_id = self._nesting.new_id()
        input_ = await self._input(child)
        goal = await self._desire(input_, name, stack_id)
        acceptance = self._acceptance(stack_id, 0, Action.CREATE, input_, child)

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
            bounded = self._bounded(connection, _timed(acceptance, child, around), now)
            accept.create(connection, NewStack(stack_id, self._project, name, path, owner, depth), bounded, now)
            self._plan(connection, acceptance, goal, now)

        await self._write(unit)
        return stack_id, acceptance.operation_id

    async def update(self, stack_id: str, child: contract.Child) -> str:
        return await self._change(stack_id, child, Action.UPDATE)

    async def adopt(self, stack_id: str, child: contract.Child) -> str:
        # The export document describes the template of the adoption; a newer template has to be applied.
        purpose = self._around.operation.action is Action.ADOPT
        return await self._change(stack_id, child, Action.ADOPT if purpose else Action.UPDATE)

    async def _change(self, stack_id: str, child: contract.Child, action: Action) -> str:
        stack = await self.stack(stack_id)
        input_ = self._with_held(await self._input(child), child, await self._present(stack))
        goal = await self._desire(input_, stack["name"], stack_id)
        acceptance = self._acceptance(stack_id, stack["generation"], action, input_, child)
        return await self._supersede(acceptance, lambda c, now: self._plan(c, acceptance, goal, now), child)

    async def act(self, stack_id: str, action: Action) -> str | None:
        found = await self._nesting.store.read(lambda connection: lookups.stack(connection, self._project, stack_id))
        if found is None or found["tomb"]:
            return None
        acceptance = Acceptance(stack_id, found["generation"], self._nesting.new_id(), action, "",
                                disable_rollback=True, timeout_s=found["timeout_s"], reason=f"Stack {action.name} started",
                                input_of=found["operation_id"])

        def write_plan(connection: Connection, now: float) -> None:
            if action is Action.DELETE:
                # A user may have protected a part of it since the deletion of its resource began.
                protection.refuse_delete(connection, stack_id)
            requests.plan_action(connection, acceptance, now)

        return await self._supersede(acceptance, write_plan)

    async def ending(self, stack_id: str, operation_id: str | None = None) -> contract.Ending:
        def unit(connection: Connection) -> contract.Ending:
            stack = lookups.stack(connection, self._project, stack_id)
            if stack is None:
                return contract.Ending(f"stack {stack_id} is gone")
            operation = rows.operation(connection, operation_id or stack["operation_id"])
            if operation is None or operation.state == OperationState.SUPERSEDED:
                # A user has changed the nested stack directly: the newest operation counts.
                operation = rows.operation(connection, stack["operation_id"])
            if operation is None:
                raise errors.Bug(f"stack {stack_id} has no operation")
            unfinished = operation.state in UNFINISHED
            return contract.Ending(awaits=operation.id) if unfinished else contract.Ending(operation.failure or "")

        return await self._nesting.store.read(unit)

    async def find(self, name: str, *, owned: bool = True) -> str | None:
        found = await self._nesting.store.read(lambda connection: lookups.stack(connection, self._project, name))
        owner = self._around.stack_id if owned else None
        return None if found is None or found["owner_id"] != owner else str(found["id"])

    async def members(self, stack_id: str) -> Sequence[contract.Member]:
        found = await super().members(stack_id)
        present = await self._present(await self.stack(stack_id))
        if present is None:
            return found
        input_ = await self._input(contract.Child(present.template))
        now = desired.ResourceInput(input_.files, input_.environment)

        def work() -> list[contract.Member]:
            return [dataclasses.replace(one, current=self._is_current(one, present.input_for(one.name), now))
                    for one in found]

        return await self._nesting.planning.compute(input_.size + present.size, work)

    def _is_current(self, member: contract.Member, own: desired.ResourceInput, now: desired.ResourceInput) -> bool:
        """Return whether a member has the files and environment that it would get now, as far as its type needs them."""
        return own.is_like(now) or self._plain(member, own) is self._plain(member, now) is not None

    def _plain(self, member: contract.Member, around: desired.ResourceInput) -> type[contract.Resource] | None:
        """Return the type of a member, unless it is a nested stack."""
        try:
            type_ = self._nesting.types.resolve(
                str(member.definition["type"]), environment.load(around.environment), member.name, around.files)
        except errors.UserError:
            return None
        return None if nested_stack.is_stack(type_) else type_

    async def cancelled(self) -> bool:
        return await self._nesting.store.read(
            lambda connection: lookups.is_cancelled(connection, self._around.operation.id)
        )

    async def time_left_s(self) -> float | None:
        read = self._nesting.store.read
        deadline = await read(lambda connection: lookups.deadline(connection, self._around.operation.id))
        return None if deadline is None else deadline - self._nesting.clock.now()

    # Shared by the methods above.

    @property
    def _project(self) -> str:
        return self._around.operation.project

    async def _desire(self, input_: desired.StackInput, name: str, stack_id: str) -> desired.Desired:
        identity = desired.Identity(name, stack_id, self._project)
        types, most = self._nesting.types, self._nesting.settings.max_hidden_size

        def work() -> desired.Desired:
            try:
                return desired.desire(input_, identity, types, bounds=self._nesting.bounds)
            except errors.UserError as error:
                # The outer stack, which shows the error, does not know the write-only values of this template.
                raise masking.error(error, input_, types, most) from None

        return await self._nesting.planning.compute(input_.size, work)

    def _plan(self, connection: Connection, acceptance: Acceptance, goal: desired.Desired, now: float) -> None:
        plan.write(connection, acceptance.operation_id, goal.wanted, now)
        limits.resources(connection, acceptance.stack_id, self._nesting.settings.max_resources_per_stack)

    async def _input(self, child: contract.Child) -> desired.StackInput:
        """Return the request of the nested stack: its template, and the files and environment of the outer stack."""
        outer = self._around.operation
        whole = await self._nesting.store.read(lambda connection: input_of(connection, outer.stack_id, outer.input))
        mine = whole.input_for(self._around.name)
        around = dataclasses.replace(whole, files=mine.files, environment=mine.environment)
        secrets = await self._nesting.planning.secrets(outer)
        return await self._nesting.planning.compute(
            around.size + off_loop.weight(child.parameters),
            lambda: masking.inner(around, self._resource, child, self._nesting.types, secrets))

    async def _present(self, stack: lookups.Row) -> desired.StackInput | None:
        """Return the request that the nested stack has now."""

        def unit(connection: Connection) -> desired.StackInput | None:
            operation = rows.operation(connection, stack["operation_id"])
            return None if operation is None or not operation.input else input_of(connection, stack["id"], operation.input)

        return await self._nesting.store.read(unit)

    @staticmethod
    def _with_held(
        input_: desired.StackInput, child: contract.Child, present: desired.StackInput | None
    ) -> desired.StackInput:
        """Add to the request the files and environment of the resources that are to stay as they are."""
        if not child.held or present is None:
            return input_
        newest = desired.ResourceInput(input_.files, input_.environment)
        others = child.held.difference(*(one.names for one in present.older))
        found = [dataclasses.replace(one, names=tuple(sorted(child.held.intersection(one.names)))) for one in present.older]
        found.append(desired.ResourceInput(present.files, present.environment, tuple(sorted(others))))
        kept = tuple(one for one in found if one.names and not one.is_like(newest))
        return dataclasses.replace(input_, older=kept, secrets=tuple(dict.fromkeys((*input_.secrets, *present.secrets))))

    def _acceptance(
        self, stack_id: str, generation: int, action: Action, input_: desired.StackInput, child: contract.Child
    ) -> Acceptance:
        input_key, blobs = requests.stored(input_)
        return Acceptance(stack_id, generation, self._nesting.new_id(), action, input_key, disable_rollback=True,
                          timeout_s=child.timeout_s, blobs=blobs, reason=f"Stack {action.name} started",
                          converge=action is Action.UPDATE and self._around.operation.converge,
                          scope=OperationScope(repairs=True) if self._around.operation.repairs else None)

    def _still_ours(self, connection: Connection) -> lookups.Row:
        """Return the outer stack. Raises Superseded if the lease of the resource is lost."""
        if self._around.key not in claim.held(connection, [self._around]):
            raise errors.Superseded("another worker has the lease of the parent resource now")
        if lookups.is_cancelled(connection, self._around.operation.id):
            raise errors.Permanent("the operation on the outer stack was cancelled")
        found = lookups.stack(connection, self._project, self._around.stack_id)
        if found is None:
            raise errors.Superseded("the outer stack is gone")
        return found

    def _bounded(self, connection: Connection, acceptance: Acceptance, now: float, *, requested: bool = True) -> Acceptance:
        """Limit the operation to the time that is left of the outer operation.

        `requested`: a shorter timeout of the request applies as well. A delete or a check requests none: the timeout
        that the stack has is that of an older operation.
        """
        deadline = lookups.deadline(connection, self._around.operation.id)
        if deadline is None:
            return acceptance
        left = deadline - now
        if left <= 0:
            raise errors.Superseded("the operation on the outer stack has no time left, and is about to be ended")
        own = acceptance.timeout_s if requested else None
        return replace(acceptance, limit_s=left if own is None else min(left, own))

    async def _supersede(
        self, acceptance: Acceptance, write_plan: Callable[[Connection, float], None], child: contract.Child | None = None
    ) -> str:
        def unit(connection: Connection) -> None:
            now = self._nesting.clock.now()
            timed = _timed(acceptance, child, self._still_ours(connection))
            bounded = self._bounded(connection, timed, now, requested=child is not None)
            accept.supersede(connection, bounded, now, preempt=True)
            write_plan(connection, now)

        await self._write(unit)
        return acceptance.operation_id

    async def _write(self, unit: Callable[[Connection], None]) -> None:
        try:
            await self._nesting.store.write(unit)
        except errors.Conflict as error:
            # Another request on the nested stack was accepted at the same moment: try again.
            raise errors.Temporary(str(error), retry_after_s=0.1) from error
        self._nesting.wake()


def _timed(acceptance: Acceptance, child: contract.Child | None, around: lookups.Row) -> Acceptance:
    """Give the operation the timeout of the outer stack, as in Heat."""
    return replace(acceptance, timeout_s=around["timeout_s"]) if child is not None and child.owned else acceptance
