"""The port through which a type makes and reads stacks inside its own stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from isotherm.states import Action


@dataclass(frozen=True, slots=True)
class Child:
    """A stack inside a stack, as a resource wants it. Files and environment come from the stack around it."""

    template: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    # What others will want to know of its resources: paths of attributes, by the resource's name or `*` for all.
    exports: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    # A stack of its own has no owner: users see it among theirs.
    owned: bool = True
    # The resources that stay as they are, also in what they have from the stack around it.
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Member:
    """One resource of a stack inside, as its newest template has it."""

    name: str
    definition: Mapping[str, Any]
    failed: bool = False
    made_at: float | None = None
    # Whether what it has from the stack around (files, environment) is what that has now.
    current: bool = True


@dataclass(frozen=True, slots=True)
class Ending:
    """How an operation on another stack ended; a failure says why. If it has not: the operation to wait for."""

    failure: str = ""
    awaits: str = ""


class Stacks(Protocol):
    """Stacks inside stacks. Each method that starts something answers the id of the operation to wait for."""

    async def create(self, name: str, child: Child) -> tuple[str, str]:
        """A new stack: its id, and the operation that makes it."""
        ...

    async def update(self, stack_id: str, child: Child) -> str: ...

    async def adopt(self, stack_id: str, child: Child) -> str:
        """Take over what is there already of the stack, and make what is not."""
        ...

    async def act(self, stack_id: str, action: Action) -> str | None:
        """Delete, check, suspend...; None if the stack is gone."""
        ...

    async def ending(self, stack_id: str, operation_id: str | None = None) -> Ending:
        """How that operation ended (the stack's newest, if none is named, or if that one was overtaken)."""
        ...

    async def find(self, name: str, *, owned: bool = True) -> str | None: ...

    async def arn(self, stack_id: str) -> str: ...

    async def outputs(self, stack_id: str) -> Mapping[str, Any]: ...

    async def members(self, stack_id: str) -> Sequence[Member]:
        """The resources that the newest template of the stack has, in its order, and how they are."""
        ...

    async def references(self, stack_id: str) -> Mapping[str, Any]:
        """What get_resource gives for each resource of the stack that has been made, in the order of the template."""
        ...

    async def published(self, stack_id: str, path: Sequence[Any]) -> Mapping[str, Any]:
        """What get_attr gives for each resource of the stack, if it was among the exports; all in one reading."""
        ...

    async def cancelled(self) -> bool:
        """Whether the operation around was cancelled: then nothing new is begun."""
        ...

    async def time_left_s(self) -> float | None:
        """How long the operation around has until it times out; None if there is no end to it."""
        ...
