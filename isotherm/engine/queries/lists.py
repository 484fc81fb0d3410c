"""Lists of the resources and events of one stack, read from rows alone. They import no template language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isotherm.engine.queries import views
from isotherm.engine.queries.stacks import StackFinder
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import events, lookups

_Views = list[dict[str, Any]]
_Edges = list[tuple[str, str]]


class ResourceList:
    """Lists the resources of a stack and their dependencies."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._project = project
        self._stacks = StackFinder(store, project)

    async def list(self, name_or_id: str) -> _Views:
        row = await self._stacks.row(name_or_id, deleted=True)
        found = await self._store.read(lambda connection: lookups.resources(connection, row["id"], documents=False))
        return [views.resource(one) for one in found]

    async def edges(self, name_or_id: str) -> _Edges:
        """Return the dependencies by name: pairs of a required resource and the resource that requires it."""
        row = await self._stacks.row(name_or_id, deleted=True)
        return await self._store.read(lambda connection: lookups.edges(connection, row["id"]))


class EventList:
    """Lists the events of a stack, oldest first."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._project = project
        self._stacks = StackFinder(store, project)

    async def list(self, name_or_id: str, *, after: int = 0, last: int | None = None) -> _Views:
        """Return the events after an id, at most a thousand; with `last`, the newest ones."""
        row = await self._stacks.row(name_or_id, deleted=True)

        def unit(connection: Connection) -> Sequence[lookups.Row]:
            if last is not None:
                return events.newest(connection, row["id"], last)
            return events.after(connection, row["id"], after)

        return [views.event(one) for one in await self._store.read(unit)]
