"""What users lend the service, so that it can go on with their stacks when they have gone: the port, and its absence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from isotherm.api.caller import Caller

# Tells which stack it is for.
Bind = Callable[[str], Awaitable[None]]


class Lending(Protocol):
    """Borrows from a caller for as long as a stack lives."""

    def borrowed(self, caller: Caller, project: str, stack_id: str | None = None) -> AbstractAsyncContextManager[Bind]:
        """Inside, the stack is made or changed, and then named; should that fail, what was lent is given back."""
        ...


class Nothing:
    """Where there is no identity service, there is nothing to lend."""

    @asynccontextmanager
    async def borrowed(self, caller: Caller, project: str, stack_id: str | None = None) -> AsyncIterator[Bind]:
        yield nothing


async def nothing(_stack_id: str) -> None:
    """The stack has what it needs."""
