"""The port through which users delegate credentials to the service, and its adapter for services without Keystone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from isotherm.identity.caller import Caller


class Delegation(Protocol):
    """Obtains credentials from callers, each for the life of one stack."""

    def delegated(self, caller: Caller, project: str, stack_id: str | None = None) -> AbstractAsyncContextManager[str]:
        """Obtain a credential and yield its id; empty if the stack needs none.

        The body creates or updates the stack, and the accepting transaction binds the credential. A credential that
        was not bound is revoked.
        """
        ...


class NoDelegation:
    """Delegates nothing: there is no identity service."""

    @asynccontextmanager
    async def delegated(self, caller: Caller, project: str, stack_id: str | None = None) -> AsyncIterator[str]:
        yield ""
