"""What can be read of stacks without knowing their templates: from rows, at any moment, and quickly.

Kept apart from the operations so that a command that only looks need not load the template language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isotherm import errors
from isotherm.engine import views
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import lookups, stack_list
from isotherm.store.reads.lookups import Kind
from isotherm.store.reads.stack_list import ORDERS, Filters, Wish
from isotherm.store.watch import observations, repair_records

__all__ = ["ORDERS", "PROJECT", "Filters", "Kind", "Reading", "Wish"]

PROJECT = "default"


class Reading:
    """Reads the stacks of one project."""

    def __init__(self, store: Store, project: str = PROJECT) -> None:
        self._store = store
        self._project = project

    async def stacks(self) -> list[dict[str, Any]]:
        found = await self._store.read(lambda connection: lookups.stacks(connection, self._project))
        return [views.stack(row) for row in found]

    async def page(self, wish: Wish, *, everywhere: bool = False) -> list[dict[str, Any]]:
        """A page of a list of stacks; `everywhere`: in all projects."""
        project = None if everywhere else self._project

        def unit(connection: Connection) -> list[dict[str, Any]]:
            # Made ready beside the loop: a long list is no reason for others to wait.
            return [views.stack(row) for row in stack_list.page(connection, project, wish)]

        return await self._store.read(unit)

    async def count(self, wish: Wish, *, everywhere: bool = False) -> int:
        """How many stacks there are on all pages of a list."""
        project = None if everywhere else self._project
        return await self._store.read(lambda connection: stack_list.count(connection, project, wish))

    async def find(self, name_or_id: str, *, deleted: bool = False) -> dict[str, Any]:
        """A living stack by name or id; with `deleted`, also one that is gone, by its id."""
        return views.stack(await self._find(name_or_id, deleted=deleted))

    async def owner(self, kind: Kind, id_: str) -> str | None:
        """Return the project that an object belongs to, whichever it is; None if there is no such object."""
        return await self._store.read(lambda connection: lookups.owner(connection, kind, id_))

    async def show(self, name_or_id: str) -> dict[str, Any]:
        row = await self._find(name_or_id, deleted=True)

        def unit(connection: Connection) -> dict[str, Any]:
            operation = lookups.operation(connection, row["operation_id"])
            counts = lookups.counts(connection, row["id"], row["generation"])
            kept = lookups.retained(connection, row["id"])
            return {**views.stack(row), **views.progress(operation, counts), "retained": views.retained(kept)}

        return await self._store.read(unit)

    async def resources(self, name_or_id: str) -> list[dict[str, Any]]:
        row = await self._find(name_or_id, deleted=True)
        found = await self._store.read(lambda connection: lookups.resources(connection, row["id"], documents=False))
        return [views.resource(one) for one in found]

    async def edges(self, name_or_id: str) -> list[tuple[str, str]]:
        row = await self._find(name_or_id, deleted=True)
        return await self._store.read(lambda connection: lookups.edges(connection, row["id"]))

    async def events(self, name_or_id: str, *, after: int = 0, last: int | None = None) -> list[dict[str, Any]]:
        row = await self._find(name_or_id, deleted=True)

        def unit(connection: Connection) -> Sequence[lookups.Row]:
            if last is not None:
                return lookups.last_events(connection, row["id"], last)
            return lookups.events(connection, row["id"], after)

        return [views.event(one) for one in await self._store.read(unit)]

    async def drifted(self, stack_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """By stack: how many of its resources have drifted as far as is known, and how many are not repaired any more."""

        def unit(connection: Connection) -> dict[str, dict[str, int]]:
            drifted, given_up = observations.drifted(connection, stack_ids), repair_records.given_up(connection, stack_ids)
            return {id_: {"drifted": drifted.get(id_, 0), "given_up": given_up.get(id_, 0)} for id_ in stack_ids}

        return await self._store.read(unit)

    async def _find(self, name_or_id: str, *, deleted: bool = False) -> lookups.Row:
        found = await self._store.read(lambda connection: lookups.stack(connection, self._project, name_or_id))
        if found is None or (found["tomb"] and not deleted):
            raise errors.NotFound(f"The Stack ({name_or_id}) could not be found.",
                                  hint="`isotherm list` shows what there is.")
        return found
