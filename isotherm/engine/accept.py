"""What all operations have in common: from what somebody asks for to the newest operation of a stack.

An operation is accepted by one conditional write, together with its plan: whoever loses the race for being the newest has
changed nothing, and is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine import export_document, stack_reads
from isotherm.engine.nested import inner_reads
from isotherm.planning import desired, documents, masking, off_loop, planner, request_limits, requests
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.secrets import Redactor
from isotherm.states import Action
from isotherm.store import rows
from isotherm.store.database.writer import Connection, Store
from isotherm.store.operations import accept
from isotherm.store.reads import lookups
from isotherm.store.records import Acceptance, Operation

# Operations that meet what is there, and may look at it.
LOOKING = frozenset({Action.UPDATE, Action.RESTORE})
# Writes the plan of an operation that has just been accepted.
WritePlan = Callable[[Connection, str, float], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for in a create or an update."""

    template: str
    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    disable_rollback: bool = True
    timeout_s: float | None = 3600.0
    tags: Sequence[str] = ()
    # By resource: what its type kept for the snapshot that the stack is brought back to.
    restored: Mapping[str, Any] = field(default_factory=dict)
    # Of a stack inside: what the stack around it hides.
    secrets: tuple[str, ...] = ()
    # Whether an update looks at reality before it decides; it does too where the configuration says so.
    converge: bool = False

    @property
    def asked(self) -> desired.Asked:
        return desired.Asked(self.template, self.files, self.environment, restored=self.restored, secrets=self.secrets)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer to a request that was accepted: what to wait for is this operation, not a status word."""

    stack_id: str
    operation_id: str
    generation: int


class Accepting(stack_reads.Reading):
    """The ports that accepting takes, and the steps that all operations share."""

    def __init__(  # noqa: PLR0913 - the ports of whoever accepts, one each
        self, store: Store, types: Registry, clock: contract.Clock, new_id: Callable[[], str],
        wake: Callable[..., None] = lambda *_: None, project: str = stack_reads.PROJECT,
        settings: Settings = Settings(),  # noqa: B008 - frozen
        username: str = "", plans: planner.Planning | None = None,
    ) -> None:
        super().__init__(store, project)
        self._types = types
        self._clock = clock
        self._new_id = new_id
        # Called with the ids of the stacks on which there is something to do.
        self._wake = wake
        self._settings = settings
        self._username = username
        self._planning = plans or planner.Planning(store, types, clock)
        #: Whether whoever asks may use a type of resource; None: every one.
        self.may_use: Callable[[str], bool] | None = None
        #: The types of the services in the caller's catalog; None: there is no catalog.
        self.services: Container[str] | None = None
        #: The credential that whoever asks has lent for the stack that is made or changed; bound to it on acceptance.
        self.credential = ""

    def _inside(self) -> inner_reads.InnerStackReader:
        """A reader of the project's stacks, for one use."""
        return inner_reads.InnerStackReader(self._access())

    def _access(self) -> inner_reads.Access:
        return inner_reads.Access(self._store, self._planning, self._clock, self._project)

    async def _desire(self, request: Request, name: str, stack_id: str) -> desired.Desired:
        """Raises UserError for what is wrong with the request, without a word of what is secret in it."""
        request_limits.check(request.asked, self._settings)
        return await self._planning.compute(request.asked.size, lambda: self._judge(request, name, stack_id))

    def _judge(self, request: Request, name: str, stack_id: str) -> desired.Desired:
        request_limits.check_hidden(request.asked, self._settings)
        try:
            return desired.desire(
                request.asked,
                desired.Identity(name, stack_id, self._project),
                self._types.limited(self.may_use, self.services),
                bounds=request_limits.bounds(self._settings),
            )
        except errors.UserError as error:
            secrets = masking.redactor(request.asked) + masking.written(request.template, self._types)
            raise secrets.error(error) from None

    async def _acceptance(
        self, stack_id: str, generation: int, action: Action, request: Request, goal: desired.Desired
    ) -> Acceptance:
        input_, blobs = requests.stored(request.asked)
        operation_id = self._new_id()
        await self._planning.introduce(operation_id, request.asked, goal)
        return Acceptance(
            stack_id, generation, operation_id, action, input_, request.disable_rollback, request.timeout_s,
            documents.encode(list(request.tags)), blobs, f"Stack {action.name} started", goal.description,
            limit_s=self._limit_s(request.timeout_s),
            converge=action in LOOKING and (request.converge or self._settings.observe_on_update),
            credential=self.credential,
        )

    def _again(self, stack: lookups.Row, action: Action) -> Acceptance:
        """An operation that asks for nothing new."""
        return Acceptance(
            stack["id"], stack["generation"], self._new_id(), action, "", stack["disable_rollback"],
            stack["timeout_s"], stack["tags"], reason=f"Stack {action.name} started", input_of=stack["operation_id"],
            limit_s=self._limit_s(stack["timeout_s"]),
        )

    def _limit_s(self, asked: float | None) -> float | None:
        """Give the time that an operation has where nothing was asked for; None where something was."""
        return self._settings.stack_action_timeout if asked is None else None

    async def _supersede(self, acceptance: Acceptance, write_plan: WritePlan) -> Accepted:
        """Make it the newest operation of its stack, with its plan; raises Conflict if another was faster."""

        def unit(connection: Connection) -> int:
            now = self._clock.now()
            generation = accept.supersede(connection, acceptance, now)
            write_plan(connection, acceptance.operation_id, now)
            return generation

        generation = await self._store.write(unit)
        self._wake(acceptance.stack_id)
        return Accepted(acceptance.stack_id, acceptance.operation_id, generation)

    async def _operation(self, stack: lookups.Row) -> Operation | None:
        """The newest operation of the stack."""
        return await self._store.read(lambda connection: rows.operation(connection, stack["operation_id"]))

    async def _asked(self, stack: lookups.Row) -> desired.Asked:
        """What the stack is to be: the input of its newest operation."""
        return await self._store.read(lambda connection: self._input(connection, stack))

    @staticmethod
    def _input(connection: Connection, stack: lookups.Row) -> desired.Asked:
        operation = rows.operation(connection, stack["operation_id"])
        if operation is None or not operation.input:
            raise errors.UserError(f"Stack {stack['name']} has no template: it was rolled back to nothing.",
                                   kind="NotSupported", hint="Update it with a template.")
        return planner.asked_for(connection, stack["id"], operation.input)

    def _hidden(self, stack: lookups.Row, asked: desired.Asked) -> dict[str, Any]:
        """The values of hidden parameters, by name."""
        identity = desired.Identity(stack["name"], stack["id"], self._project)
        values = desired.values_of(asked, identity)
        hidden = {name: values[name] for name in values.hidden if name in values}
        return {**hidden, export_document.AROUND: list(asked.secrets)} if asked.secrets else hidden

    async def _masked(self, stack: lookups.Row, asked: desired.Asked, whole: Mapping[str, Any]) -> dict[str, Any]:
        """The document of a stack (`papers`) for anybody's eyes."""
        return await self._planning.compute(
            asked.size + off_loop.weight(whole), lambda: export_document.masked(whole, self._hidden(stack, asked)))

    async def _secrets(self, stack: lookups.Row | None, asked: desired.Asked | None = None) -> Redactor:
        """Knows what must not be told of the stack as it is, and as it would be with what is asked for."""
        of_stack = masking.NOBODY if stack is None else await self._planning.all_secrets(stack["id"])
        if asked is None:
            return of_stack
        own = await self._planning.compute(asked.size, lambda: masking.redactor(asked))
        return masking.union([of_stack, own])


def refuse_deleted(stack: lookups.Row) -> None:
    """What is on its way out cannot rest: there is nothing left that anybody wants to wake again."""
    if stack["action"] == Action.DELETE:
        raise errors.UserError("Suspending a stack that is being deleted is not supported.", kind="NotSupported",
                               hint="Update it to have it back, or let it go.")


def refuse_suspended(stack: lookups.Row) -> None:
    """As Heat has it. Deleting, checking, resuming and rolling back are always possible."""
    if stack["action"] == Action.SUSPEND:
        raise errors.UserError("Updating a stack when it is suspended is not supported.", kind="NotSupported",
                               hint="Resume it first, or delete it.")
