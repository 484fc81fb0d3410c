"""What users have lent the service, so that work goes on when they have gone: kept, found again, given back.

What it is (with Keystone: a trust) this module does not know; whoever does sits above, and asks now and then what is of
no use any more. So nothing has to happen at the moment a stack ends, and a crash loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isotherm import errors
from isotherm.resources import contract
from isotherm.store import credentials
from isotherm.store.credentials import Lent
from isotherm.store.database.writer import Store

__all__ = ["Custody", "Lent"]

# A request takes no longer than this from the moment it borrows until its stack exists.
_UNBOUND_S = 600.0
_AGAIN_S = 600.0


@dataclass(frozen=True, slots=True)
class Custody:
    """Keeps what is lent."""

    store: Store
    clock: contract.Clock
    new_id: Callable[[], str]
    # How often work that waits for a credential looks whether there is one.
    again_s: float = 30.0

    async def announce(self, project: str, user_id: str) -> Lent:
        """Keep a row for a credential that is about to be asked for, so that none is made that no row knows of."""
        lent = Lent(self.new_id(), user_id, "")
        now = self.clock.now()
        await self.store.write(lambda connection: credentials.keep(connection, project, lent, now))
        return lent

    async def fill(self, project: str, announced: Lent, secret: str) -> Lent:
        """Keep the secret. The transaction that accepts the operation binds the credential to its stack."""
        lent = announced._replace(secret=secret)
        await self.store.write(lambda connection: credentials.fill(connection, project, lent))
        return lent

    async def is_bound(self, lent: Lent) -> bool:
        return await self.store.read(lambda connection: credentials.is_bound(connection, lent.id))

    async def of_stack(self, stack_id: str) -> Lent | None:
        return await self.store.read(lambda connection: credentials.of_stack(connection, stack_id))

    async def needed(self, stack_id: str) -> Lent:
        """Return the credential of a stack. Raises NotBegun where there is none: the work that needs it waits for it."""
        found = await self.of_stack(stack_id)
        if found is None:
            raise errors.NotBegun(f"No user has lent the service the right to act on stack {stack_id}. Update the stack "
                                  "to lend it.", self.again_s)
        return found

    async def useless(self) -> list[Lent]:
        now = self.clock.now()
        return await self.store.read(lambda connection: credentials.useless(connection, now, now - _UNBOUND_S))

    async def postpone(self, lent: Lent) -> None:
        until = self.clock.now() + _AGAIN_S
        await self.store.write(lambda connection: credentials.postpone(connection, lent.id, until))

    async def forget(self, lent: Lent) -> None:
        await self.store.write(lambda connection: credentials.forget(connection, lent.id))
