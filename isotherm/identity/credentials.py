"""Credentials that users delegate to the service, so that work on a stack goes on after the request has ended.

With Keystone a credential is a trust, which this module does not know: `trusts` asks from time to time for the credentials
that no stack needs any more. So nothing has to happen at the moment a stack ends, and a crash loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isotherm import errors
from isotherm.resources import contract
from isotherm.store import credentials
from isotherm.store.credentials import StackCredential
from isotherm.store.database.writer import Store

__all__ = ["CredentialStore", "StackCredential"]

# A request binds its credential to a stack within this time.
_UNBOUND_S = 600.0
_AGAIN_S = 600.0


@dataclass(frozen=True, slots=True)
class CredentialStore:
    """Keeps credentials, sealed, and finds them by stack."""

    store: Store
    clock: contract.Clock
    new_id: Callable[[], str]
    # The pause after which a step that needs a credential tries again.
    again_s: float = 30.0

    async def announce(self, project: str, user_id: str) -> StackCredential:
        """Write the row of a credential before it is requested, so that no credential exists without a row."""
        credential = StackCredential(self.new_id(), user_id, "")
        now = self.clock.now()
        await self.store.write(lambda connection: credentials.keep(connection, project, credential, now))
        return credential

    async def fill(self, project: str, announced: StackCredential, secret: str) -> StackCredential:
        """Write the secret. The transaction that accepts the operation binds the credential to its stack."""
        credential = announced._replace(secret=secret)
        await self.store.write(lambda connection: credentials.fill(connection, project, credential))
        return credential

    async def is_bound(self, credential: StackCredential) -> bool:
        return await self.store.read(lambda connection: credentials.is_bound(connection, credential.id))

    async def of_stack(self, stack_id: str) -> StackCredential | None:
        return await self.store.read(lambda connection: credentials.of_stack(connection, stack_id))

    async def needed(self, stack_id: str) -> StackCredential:
        """Return the credential of a stack. Raises NotBegun where there is none: the step waits and tries again."""
        found = await self.of_stack(stack_id)
        if found is None:
            raise errors.NotBegun(f"No user has lent the service the right to act on stack {stack_id}. Update the stack "
                                  "to lend it.", self.again_s)
        return found

    async def useless(self) -> list[StackCredential]:
        """Return credentials that no stack needs and no running request may still bind."""
        now = self.clock.now()
        return await self.store.read(lambda connection: credentials.useless(connection, now, now - _UNBOUND_S))

    async def postpone(self, credential: StackCredential) -> None:
        """Leave a useless credential out of `useless` for a while."""
        until = self.clock.now() + _AGAIN_S
        await self.store.write(lambda connection: credentials.postpone(connection, credential.id, until))

    async def forget(self, credential: StackCredential) -> None:
        await self.store.write(lambda connection: credentials.forget(connection, credential.id))
