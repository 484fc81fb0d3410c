"""Acceptance: the steps from a request to the newest operation of a stack, common to all operations.

One conditional write accepts an operation together with its plan. A request that loses the race for the newest generation
changes nothing and raises Conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, documents, masking, request_limits, requests
from isotherm.resources import cloud_lookups
from isotherm.resources.catalog import heat_types
from isotherm.resources.validation import custom_constraints
from isotherm.states import Action
from isotherm.store import limits
from isotherm.store.database.writer import Connection
from isotherm.store.operations import accept
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance, Move, Moves, NewStack, OperationScope
from isotherm.store.versions import protection
from isotherm.template import environment

# Operations that may compare resources with reality before they decide.
OBSERVING = frozenset({Action.UPDATE, Action.RESTORE})
# Operations that change objects; a rollback and a delete are accepted elsewhere, with checks of their own.
_CHANGING = frozenset({Action.UPDATE, Action.RESTORE, Action.SUSPEND, Action.RESUME})
# Writes the plan of an operation, in the transaction that accepts the operation.
WritePlan = Callable[[Connection, str, float], None]


@dataclass(frozen=True, slots=True)
class Request:
    """The whole input of a create or an update."""

    template: str
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    disable_rollback: bool = True
    timeout_s: float | None = 3600.0
    tags: Sequence[str] = ()
    # By resource: the data that its type kept in the snapshot that the stack is restored to.
    restored: Mapping[str, Any] = field(default_factory=dict)
    # Of a nested stack: the secrets of its parent stack.
    secrets: tuple[str, ...] = ()
    # Whether an update observes reality before it decides; the setting `observe_on_update` has the same effect.
    converge: bool = False
    # Resources that get another name, old name to new name; those of the environment may have it already.
    moved: Mapping[str, str] = field(default_factory=dict)
    # The generation whose names the resources get back.
    names_of: int | None = None
    # The resources that the request leaves out, or that earlier updates have left out.
    parts: desired.Parts = field(default_factory=desired.Parts)
    # Only these resources are changed, with what they need; these are not changed, nor what needs them.
    target: Sequence[str] = ()
    exclude: Sequence[str] = ()

    @property
    def input(self) -> desired.StackInput:
        return desired.StackInput(self.template, self.files, self.environment, restored=self.restored, secrets=self.secrets,
                                  parts=self.parts)

    def moves(self, goal: desired.Desired) -> Moves:
        """Return the moves that the request asks for, with the types of the new definitions."""
        types = {name: definition.type for name, definition in goal.bound.definitions.items()}
        kept = environment.load(self.environment).moved
        asked = {**dict.fromkeys(kept, True), **dict.fromkeys(self.moved, False)}
        names = {**kept, **self.moved}
        moves = tuple(Move(old, names[old], types.get(names[old]), stays) for old, stays in asked.items())
        return Moves(moves, self.names_of, bool(self.target or self.exclude))


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to an accepted request. Wait for the operation, not for a status of the stack."""

    stack_id: str
    operation_id: str
    generation: int


class Acceptor:
    """Accepts operations on the stacks of a requester's project."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._ports = ports
        self._requester = requester

    async def desire(self, request: Request, name: str, stack_id: str) -> desired.Desired:
        """Return the desired state of a request. Raises UserError with the secrets of the request masked."""
        request_limits.check(request.input, self._ports.settings)
        book = cloud_lookups.LookupBook(custom_constraints.LOCAL)
        judge = partial(self._judge, request, desired.Identity(name, stack_id, self._requester.project))
        services = self._requester.services
        needed = heat_types.NeededServices()
        compute = partial(self._ports.planning.compute, request.input.size)
        goal = await compute(lambda: judge(book, needed if services is None else services))
        if needed.asked:
            services = await self._ports.cloud_binding.services(self._requester, stack_id)
            if services is not None and not all(one in services for one in needed.asked):
                # Judged again for the error, which names the type.
                await compute(lambda: judge(book, services))
        if not book.open:
            return goal
        await self._ports.cloud_binding.check(self._requester, stack_id)
        # Constraints that need a cloud: ask it with the caller's credential, and validate again with the answers.
        answers = await self._ports.ask_cloud(self._requester, stack_id, book.open)
        book = cloud_lookups.LookupBook(custom_constraints.LOCAL, answers)
        return await compute(lambda: judge(book, services))

    def _judge(
        self, request: Request, identity: desired.Identity, book: cloud_lookups.LookupBook, services: Container[str] | None
    ) -> desired.Desired:
        types = self._ports.types
        request_limits.check_hidden(request.input, self._ports.settings, types)
        try:
            return desired.desire(
                request.input, identity, types.limited(self._requester.may_use, services),
                bounds=request_limits.bounds(self._ports.settings), custom=book,
            )
        except errors.UserError as error:
            raise masking.error(error, request.input, types) from None

    async def acceptance(
        self, stack_id: str, generation: int, action: Action, request: Request, goal: desired.Desired,
        scope: OperationScope | None = None,
    ) -> Acceptance:
        """Return the record of an operation with a new input. `scope`: that of a limited operation."""
        types = [definition.type for definition in goal.bound.definitions.values()]
        cloud = await self._ports.cloud_binding.bound(self._requester, stack_id, types)
        input_key, blobs = requests.stored(request.input)
        operation_id = self._ports.new_id()
        await self._ports.planning.introduce(operation_id, request.input, goal)
        return Acceptance(
            stack_id, generation, operation_id, action, input_key, request.disable_rollback, request.timeout_s,
            documents.encode(list(request.tags)), blobs, f"Stack {action.name} started", goal.description,
            limit_s=self._limit_s(request.timeout_s),
            converge=action in OBSERVING and (request.converge or self._ports.settings.observe_on_update),
            credential=self._requester.credential, cloud=cloud, username=self._requester.username,
            scope=scope or (OperationScope(waits=request.parts.names) if request.parts else None),
        )

    def repetition(self, stack: lookups.Row, action: Action) -> Acceptance:
        """Return the record of an operation with the input that the stack has already."""
        return Acceptance(
            stack["id"], stack["generation"], self._ports.new_id(), action, "", stack["disable_rollback"],
            stack["timeout_s"], stack["tags"], reason=f"Stack {action.name} started", input_of=stack["operation_id"],
            limit_s=self._limit_s(stack["timeout_s"]),
        )

    def _limit_s(self, requested_s: float | None) -> float | None:
        """Return the default time limit if the request has none; None if it has one."""
        return self._ports.settings.stack_action_timeout if requested_s is None else None

    def new_stack(self, stack_id: str, name: str) -> NewStack:
        return NewStack(stack_id, self._requester.project, name, self._ports.settings.convergence_engine,
                        username=self._requester.username)

    async def create(self, stack: NewStack, acceptance: Acceptance, write_plan: WritePlan) -> Accepted:
        """Write a new stack with its first operation and plan. Raises UserError if the project has too many stacks."""
        ports = self._ports

        def unit(connection: Connection) -> None:
            now = ports.clock.now()
            limits.stacks(connection, stack.project, ports.settings.max_stacks_per_tenant)
            accept.create(connection, stack, acceptance, now)
            write_plan(connection, acceptance.operation_id, now)

        await ports.lifecycle.before_create(stack, acceptance.action)
        await ports.store.write(unit)
        ports.wake(stack.id)
        return Accepted(stack.id, acceptance.operation_id, 1)

    async def supersede(self, acceptance: Acceptance, write_plan: WritePlan) -> Accepted:
        """Write the newest operation of a stack with its plan. Raises Conflict if another request was faster."""

        def unit(connection: Connection) -> int:
            now = self._ports.clock.now()
            if acceptance.action in _CHANGING:
                protection.refuse_change(connection, acceptance.stack_id)
            generation = accept.supersede(connection, acceptance, now)
            write_plan(connection, acceptance.operation_id, now)
            return generation

        await self.check_allowed(acceptance.stack_id, acceptance.action)
        generation = await self._ports.store.write(unit)
        self._ports.wake(acceptance.stack_id)
        return Accepted(acceptance.stack_id, acceptance.operation_id, generation)

    async def check_allowed(self, stack_id: str, action: Action) -> None:
        """Raise UserError if the request names another cloud than the stack's, or a lifecycle plug-in refuses it."""
        await self._ports.cloud_binding.check(self._requester, stack_id)
        await self._ports.lifecycle.before(self._ports.store, self._requester.project, stack_id, action)


def refuse_deleted(stack: lookups.Row) -> None:
    """Raise UserError if the stack is being deleted: no resource would be left to resume."""
    if stack["action"] == Action.DELETE:
        raise errors.UserError("Suspending a stack that is being deleted is not supported.", kind="NotSupported",
                               hint="Update it to have it back, or let it go.")


def refuse_moves(request: Request) -> None:
    """Raise UserError if a request to create a stack moves resources. Those of the environment wait for an update."""
    if request.moved:
        raise errors.UserError("A stack that is to be created has no resources to move.", kind="ValueError",
                               hint="Moves belong to an update of the stack that has the resources.")


def refuse_suspended(stack: lookups.Row) -> None:
    """Raise UserError if the stack is suspended, as Heat does. Delete, check, resume and rollback stay possible."""
    if stack["action"] == Action.SUSPEND:
        raise errors.UserError("Updating a stack when it is suspended is not supported.", kind="NotSupported",
                               hint="Resume it first, or delete it.")
