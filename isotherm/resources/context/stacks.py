"""The port through which a type creates and reads nested stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from isotherm.states import Action


@dataclass(frozen=True, slots=True)
class Child:
    """A wanted nested stack. Files and environment come from the outer stack."""

    template: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    # Paths of attributes that its resources publish, by the resource's name or `*` for all.
    exports: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    # Whether the stack is nested. A stack without an owner is listed among the user's stacks.
    owned: bool = True
    # The resources that stay unchanged, also in the files and environment of the outer stack.
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Member:
    """One resource of a nested stack, as in its newest template."""

    name: str
    definition: Mapping[str, Any]
    failed: bool = False
    made_at: float | None = None
    # Whether it was made with the current files and environment of the outer stack.
    current: bool = True


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an operation on another stack, with the reason of a failure; or the operation to wait for."""

    failure: str = ""
    awaits: str = ""


class Stacks(Protocol):
    """Creates and reads nested stacks. Methods that start something return the id of the operation to wait for."""

    async def create(self, name: str, child: Child) -> tuple[str, str]:
        """Create a stack; return its id and the operation."""
        ...

    async def update(self, stack_id: str, child: Child) -> str: ...

    async def adopt(self, stack_id: str, child: Child) -> str:
        """Adopt the existing objects of a stack, and create the others."""
        ...

    async def act(self, stack_id: str, action: Action) -> str | None:
        """Start a delete, check, suspend...; None if the stack is gone."""
        ...

    async def ending(self, stack_id: str, operation_id: str | None = None) -> Ending:
        """Return how the operation ended; without an id, or if it was superseded, the stack's newest one."""
        ...

    async def find(self, name: str, *, owned: bool = True) -> str | None: ...

    async def arn(self, stack_id: str) -> str: ...

    async def outputs(self, stack_id: str) -> Mapping[str, Any]: ...

    async def members(self, stack_id: str) -> Sequence[Member]:
        """Return the resources of the stack's newest template, in its order, with their states."""
        ...

    async def references(self, stack_id: str) -> Mapping[str, Any]:
        """Return the value of get_resource for each created resource of the stack, in the order of the template."""
        ...

    async def published(self, stack_id: str, path: Sequence[Any]) -> Mapping[str, Any]:
        """Return the value of get_attr for each resource of the stack, if it was exported; read at once."""
        ...

    async def cancelled(self) -> bool:
        """Return whether the outer operation was cancelled: then nothing new is begun."""
        ...

    async def time_left_s(self) -> float | None:
        """Return the time until the outer operation times out; None without a limit."""
        ...
