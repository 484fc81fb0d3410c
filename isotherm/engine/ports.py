"""What resources reach through the engine's own store: ports of the contract, made of units of work."""

from __future__ import annotations

from collections.abc import Sequence

from isotherm.engine import documents
from isotherm.resources import signals as contract
from isotherm.store import signals
from isotherm.store.database import Store


class StoredSignals:
    """Inboxes, from the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def inbox(self, stack_id: str, reference: str, near: Sequence[int] = ()) -> contract.Inbox | None:
        found = await self._store.read(lambda connection: signals.inbox(connection, stack_id, reference, near))
        if found is None:
            return None
        kept = [contract.Signal(number, key, documents.decode_any(text)) for number, key, text in found.signals]
        return contract.Inbox(found.topic, found.type, found.seen, kept)

    async def clear(self, inbox: contract.Inbox) -> None:
        await self._store.write(lambda connection: signals.clear(connection, inbox.topic, inbox.seen))
