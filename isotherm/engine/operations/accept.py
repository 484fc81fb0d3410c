"""Acceptance: the steps from a request to the newest operation of a stack, common to all operations.

One conditional write accepts an operation together with its plan. A request that loses the race for the newest generation
changes nothing and raises Conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import desired, documents, masking, request_limits, requests
from isotherm.resources import cloud_lookups
from isotherm.resources.validation import custom_constraints
from isotherm.states import Action
from isotherm.store import limits
from isotherm.store.database.writer import Connection
from isotherm.store.operations import accept
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance, NewStack

# Operations that may compare resources with reality before they decide.
OBSERVING = frozenset({Action.UPDATE, Action.RESTORE})
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
    # Of a nested stack: the secrets of the stack around it.
    secrets: tuple[str, ...] = ()
    # Whether an update observes reality before it decides; the setting `observe_on_update` has the same effect.
    converge: bool = False

    @property
    def asked(self) -> desired.Asked:
        return desired.Asked(self.template, self.files, self.environment, restored=self.restored, secrets=self.secrets)


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
        request_limits.check(request.asked, self._ports.settings)
        book = cloud_lookups.LookupBook(custom_constraints.LOCAL)
        goal = await self._ports.planning.compute(request.asked.size, lambda: self._judge(request, name, stack_id, book))
        if not book.open:
            return goal
        # Constraints that need a cloud: ask it with the caller's credential, and validate again with the answers.
        answers = await self._ports.ask_cloud(self._requester, book.open)
        book = cloud_lookups.LookupBook(custom_constraints.LOCAL, answers)
        return await self._ports.planning.compute(
            request.asked.size, lambda: self._judge(request, name, stack_id, book))

    def _judge(
        self, request: Request, name: str, stack_id: str, book: cloud_lookups.LookupBook
    ) -> desired.Desired:
        types = self._ports.types
        request_limits.check_hidden(request.asked, self._ports.settings)
        try:
            return desired.desire(
                request.asked,
                desired.Identity(name, stack_id, self._requester.project),
                types.limited(self._requester.may_use, self._requester.services),
                bounds=request_limits.bounds(self._ports.settings), custom=book,
            )
        except errors.UserError as error:
            secrets = masking.redactor(request.asked) + masking.written(request.template, types)
            raise secrets.error(error) from None

    async def acceptance(
        self, stack_id: str, generation: int, action: Action, request: Request, goal: desired.Desired
    ) -> Acceptance:
        """Return the record of an operation with a new input."""
        input_, blobs = requests.stored(request.asked)
        operation_id = self._ports.new_id()
        await self._ports.planning.introduce(operation_id, request.asked, goal)
        return Acceptance(
            stack_id, generation, operation_id, action, input_, request.disable_rollback, request.timeout_s,
            documents.encode(list(request.tags)), blobs, f"Stack {action.name} started", goal.description,
            limit_s=self._limit_s(request.timeout_s),
            converge=action in OBSERVING and (request.converge or self._ports.settings.observe_on_update),
            credential=self._requester.credential,
        )

    def repetition(self, stack: lookups.Row, action: Action) -> Acceptance:
        """Return the record of an operation with the input that the stack has already."""
        return Acceptance(
            stack["id"], stack["generation"], self._ports.new_id(), action, "", stack["disable_rollback"],
            stack["timeout_s"], stack["tags"], reason=f"Stack {action.name} started", input_of=stack["operation_id"],
            limit_s=self._limit_s(stack["timeout_s"]),
        )

    def _limit_s(self, asked: float | None) -> float | None:
        """Return the default time limit if the request has none; None if it has one."""
        return self._ports.settings.stack_action_timeout if asked is None else None

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
            generation = accept.supersede(connection, acceptance, now)
            write_plan(connection, acceptance.operation_id, now)
            return generation

        await self.ask_plugins(acceptance.stack_id, acceptance.action)
        generation = await self._ports.store.write(unit)
        self._ports.wake(acceptance.stack_id)
        return Accepted(acceptance.stack_id, acceptance.operation_id, generation)

    async def ask_plugins(self, stack_id: str, action: Action) -> None:
        """Raise UserError if a lifecycle plug-in refuses the operation."""
        await self._ports.lifecycle.before(self._ports.store, self._requester.project, stack_id, action)


def refuse_deleted(stack: lookups.Row) -> None:
    """Raise UserError if the stack is being deleted: no resource would be left to resume."""
    if stack["action"] == Action.DELETE:
        raise errors.UserError("Suspending a stack that is being deleted is not supported.", kind="NotSupported",
                               hint="Update it to have it back, or let it go.")


def refuse_suspended(stack: lookups.Row) -> None:
    """Raise UserError if the stack is suspended, as Heat does. Delete, check, resume and rollback stay possible."""
    if stack["action"] == Action.SUSPEND:
        raise errors.UserError("Updating a stack when it is suspended is not supported.", kind="NotSupported",
                               hint="Resume it first, or delete it.")
