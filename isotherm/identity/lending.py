"""Credentials that users lend the service, so that it can go on with their stacks: the port, and its absence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from isotherm.identity.caller import Caller


class Lending(Protocol):
    """Borrows from a caller for as long as a stack lives."""

    def borrowed(self, caller: Caller, project: str, stack_id: str | None = None) -> AbstractAsyncContextManager[str]:
        """Borrow a credential, and answer its id; empty: the stack has what it needs.

        Inside, the stack is made or changed, and the transaction that accepts that binds the credential. One that was not
        bound is given back.
        """
        ...


class Nothing:
    """The port where there is no identity service: nothing is lent."""

    @asynccontextmanager
    async def borrowed(self, caller: Caller, project: str, stack_id: str | None = None) -> AsyncIterator[str]:
        yield ""
