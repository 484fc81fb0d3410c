"""Plans operations that were accepted without a plan (rollbacks, or a planner that died), and caches inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from isotherm import errors
from isotherm.planning import desired, documents, masking, off_loop, summaries
from isotherm.planning.desired import Desired, StackInput
from isotherm.planning.off_loop import Compute
from isotherm.planning.summaries import StackSummary
from isotherm.resources import contract
from isotherm.resources.nested.nested_stack import IMPLEMENTATION
from isotherm.resources.registry import Registry
from isotherm.secrets import Redactor
from isotherm.states import VISITING, Action
from isotherm.store.database.writer import Connection, Store
from isotherm.store.operations import plan, visit
from isotherm.store.reads import lookups
from isotherm.store.records import Operation, Wanted
from isotherm.template.parameters.parameters import Values

T = TypeVar("T")
# Number of entries in each cache: of operations in progress, and of stacks in live views.
_KEPT = 512
# Number of characters of secrets in the cache; the newest entry is kept whatever its size.
_KEPT_CHARACTERS = 4 * 1024 * 1024


class Planning:
    """Plans operations, and caches summaries, secrets and hidden parameters of their inputs."""

    def __init__(self, store: Store, types: Registry, clock: contract.Clock, compute: Compute = off_loop.here) -> None:
        self.compute = compute
        self._store = store
        self._types = types
        self._clock = clock
        self._parameters: dict[str, Callable[[str], Values]] = {}
        self._secrets: dict[str, Redactor] = {}
        self._summaries: dict[str, StackSummary] = {}

    async def plan(self, operation: Operation) -> None:
        if operation.action in VISITING:
            await self._store.write(lambda connection: visit.write(connection, operation.id, self._clock.now()))
            return
        wanted: list[Wanted] = []
        if operation.input and operation.action is not Action.DELETE:
            wanted = (await self.desired(operation)).wanted
        await self._store.write(lambda connection: plan.write(connection, operation.id, wanted, self._clock.now()))

    async def desired(self, operation: Operation) -> desired.Desired:
        """Return the desired state of an operation. Its input was validated when it was accepted."""
        input_ = await self._store.read(lambda connection: input_of(connection, operation.stack_id, operation.input))
        identity = desired.Identity(operation.stack_name, operation.stack_id, operation.project)
        return await self.compute(
            input_.size, lambda: desired.desire(input_, identity, self._types, validate=False)
        )

    async def summary(self, operation: Operation) -> StackSummary:
        """Return the summary of the operation's input."""
        if operation.id not in self._summaries:
            input_ = await self._store.read(lambda connection: input_of(connection, operation.stack_id, operation.input))
            identity = desired.Identity(operation.stack_name, operation.stack_id, operation.project)
            summary = await self.compute(input_.size, lambda: summaries.of(input_, desired.bound(input_, identity)))
            _keep(self._summaries, operation.id, summary)
            return summary
        return self._summaries[operation.id]

    async def introduce(self, operation_id: str, input_: StackInput, goal: Desired) -> None:
        """Cache the summary of an operation that is being accepted: its first reads follow at once."""
        _keep(self._summaries, operation_id, await self.compute(input_.size, lambda: summaries.of(input_, goal.bound)))

    async def learn(self, implementation: str, *, needed: bool = False) -> None:
        """Register the template of an implementation, or its absence.

        The template is kept while an operation needs it. So if it is `needed` and gone, a newer operation has superseded
        the caller's: raises Superseded.
        """
        hash_ = implementation.removeprefix(IMPLEMENTATION)
        try:
            found = await self._store.read(lambda connection: lookups.blobs(connection, [hash_]))
        except errors.Unreadable:
            # A delete of its stack needs no template.
            if needed:
                raise
            found = {}
        if needed and hash_ not in found:
            raise errors.Superseded(f"{implementation} is gone: a newer operation needs it no more")
        self._types.learn(implementation, found.get(hash_))

    async def hidden_parameters(self, operation: Operation, name: str) -> Callable[[str], object]:
        """Return a function that reads the hidden parameters of a resource, which are in no definition."""
        if operation.id not in self._parameters:
            goal = await self.desired(operation)
            _keep(self._parameters, operation.id, replace(goal, wanted=[]).values_for)
        return self._parameters[operation.id](name).__getitem__

    async def secrets(self, operation: Operation) -> Redactor:
        """Return the redactor of the operation."""
        return await self.all_secrets(operation.stack_id, operation.input)

    async def all_secrets(self, stack_id: str, *inputs: str) -> Redactor:
        """Return a redactor for all stored inputs of a stack, or for these inputs."""

        def unit(connection: Connection) -> dict[str, Redactor | StackInput]:
            # In one read: an input may be removed between two.
            wanted = [one for one in inputs or lookups.inputs(connection, stack_id) if one]
            return {one: self._known(connection, stack_id, one) for one in wanted}

        found = await self._store.read(unit)
        return masking.union([await self._redactor(input_key, one) for input_key, one in found.items()])

    async def masked(self, secrets: Redactor, value: Any) -> Any:
        """Return the data with secrets masked."""
        return await self.compute(off_loop.weight(value), lambda: secrets.value(value)) if secrets else value

    def _known(self, connection: Connection, stack_id: str, input_key: str) -> Redactor | StackInput:
        if input_key in self._secrets:
            return self._secrets[input_key]
        try:
            return input_of(connection, stack_id, input_key)
        except errors.Unreadable:
            # Values that cannot be opened cannot be shown either.
            return masking.NO_SECRETS

    async def _redactor(self, input_key: str, found: Redactor | StackInput) -> Redactor:
        if isinstance(found, Redactor):
            return found
        made = await self.compute(found.size, lambda: masking.redactor(found))
        while self._secrets and made.size + sum(one.size for one in self._secrets.values()) > _KEPT_CHARACTERS:
            self._secrets.pop(next(iter(self._secrets)))
        _keep(self._secrets, input_key, made)
        return made


def _keep(kept: dict[str, T], key: str, value: T) -> None:
    while len(kept) >= _KEPT:
        kept.pop(next(iter(kept)))
    kept[key] = value


def input_of(connection: Connection, stack_id: str, input_key: str) -> desired.StackInput:
    """Read the whole input of an operation on a stack."""
    text = lookups.blobs(connection, [input_key], stack_id).get(input_key)
    if text is None:
        # Inputs are kept as long as their operations, and those until newer ones have ended.
        raise errors.Overtaken("Another operation on this stack came in between.", hint="Look at the stack, and ask again.")
    return _whole(connection, documents.decode(text, documents.Input))


def _whole(connection: Connection, found: documents.Input) -> desired.StackInput:
    keys = [found.template, *found.files.values(), *(key for one in found.older for key in one.files.values())]
    contents = lookups.blobs(connection, keys)
    files = {name: contents[key] for name, key in found.files.items()}
    older = tuple(
        desired.ResourceInput({name: contents[key] for name, key in one.files.items()}, one.environment, tuple(one.names))
        for one in found.older)
    return desired.StackInput(contents[found.template], files, found.environment, found.facade, found.exports,
                         found.restored, found.secrets, older, _parts(connection, found.parts))


def _parts(connection: Connection, found: documents.PartsDocument | None) -> desired.Parts:
    if found is None:
        return desired.Parts()
    kept = tuple(desired.KeptPart(tuple(one.names), _whole(connection, one.input)) for one in found.kept)
    return desired.Parts(kept, tuple(found.absent), found.exports)
