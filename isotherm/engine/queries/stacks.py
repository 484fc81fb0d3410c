"""Queries of stacks that are answered from rows alone.

They import no template language, so that a command that only lists stacks starts fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isotherm import errors
from isotherm.engine.queries import views
from isotherm.store import stack_users
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import left_out, lookups, stack_list
from isotherm.store.reads.lookups import Kind
from isotherm.store.reads.stack_list import ORDERS, Filters, StackQuery
from isotherm.store.watch import observations, repair_records

__all__ = ["ORDERS", "Filters", "Kind", "StackFinder", "StackQueries", "StackQuery"]


_Views = list[dict[str, Any]]


class StackFinder:
    """Finds the rows of a project's stacks."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._project = project

    async def row(self, name_or_id: str, *, deleted: bool = False) -> lookups.Row:
        """Return the row of a stack; with `deleted`, also of a deleted stack, by its id. Raises NotFound."""
        found = await self.any_row(name_or_id)
        if found is None or (found["tomb"] and not deleted):
            raise errors.NotFound(f"The Stack ({name_or_id}) could not be found.",
                                  hint="`isotherm list` shows what there is.")
        return found

    async def any_row(self, name_or_id: str) -> lookups.Row | None:
        """Return the row of a stack, also of a deleted one; None if there is none."""
        return await self._store.read(lambda connection: lookups.stack(connection, self._project, name_or_id))


class StackQueries:
    """Reads the stacks of one project."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._project = project
        self._stacks = StackFinder(store, project)

    async def list(self) -> _Views:
        found = await self._store.read(lambda connection: lookups.stacks(connection, self._project))
        return [views.stack(row) for row in found]

    async def page(self, query: StackQuery, *, everywhere: bool = False) -> _Views:
        """Return one page of a list of stacks; `everywhere`: of all projects."""
        project = None if everywhere else self._project

        def unit(connection: Connection) -> _Views:
            # Rows become views on the reader's thread: a long page must not block the loop.
            found = [views.stack(row) for row in stack_list.page(connection, project, query)]
            return _with_user_projects(connection, found)

        return await self._store.read(unit)

    async def count(self, query: StackQuery, *, everywhere: bool = False) -> int:
        """Return the number of stacks on all pages of a list."""
        project = None if everywhere else self._project
        return await self._store.read(lambda connection: stack_list.count(connection, project, query))

    async def find(self, name_or_id: str, *, deleted: bool = False) -> dict[str, Any]:
        """Return a stack by name or id; with `deleted`, also a deleted stack, by its id."""
        return views.stack(await self._stacks.row(name_or_id, deleted=deleted))

    async def user_project(self, stack_id: str) -> str | None:
        """Return the project of the stack users of a stack."""
        found = await self._store.read(lambda connection: stack_users.projects_of(connection, [stack_id]))
        return found.get(stack_id)

    async def of_user_project(self, project_id: str) -> Sequence[str]:
        """Return the ids of the root stacks whose stack users are in a project of Keystone."""
        return await self._store.read(lambda connection: stack_users.roots_of_project(connection, project_id))

    async def owner(self, kind: Kind, id_: str) -> str | None:
        """Return the project that owns an object, of all projects; None if there is no such object."""
        return await self._store.read(lambda connection: lookups.owner(connection, kind, id_))

    async def show(self, name_or_id: str) -> dict[str, Any]:
        """Return a stack with the progress of its newest operation, the resources it retained and those it left out."""
        row = await self._stacks.row(name_or_id, deleted=True)

        def unit(connection: Connection) -> dict[str, Any]:
            operation = lookups.operation(connection, row["operation_id"])
            counts = lookups.counts(connection, row["id"], row["generation"])
            kept = lookups.retained(connection, row["id"])
            return {**views.stack(row), **views.progress(operation, counts), "retained": views.retained(kept),
                    "left_out": left_out.names(connection, row["operation_id"])}

        return await self._store.read(unit)

    async def left_out(self, name_or_id: str) -> Sequence[str]:
        """Return the resources that wait, because an update has left them out; a full update or a retry brings them."""
        row = await self._stacks.row(name_or_id)
        return await self._store.read(lambda connection: left_out.names(connection, row["operation_id"]))

    async def drift_counts(self, stack_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return, by stack, the number of drifted resources and of those whose repair was given up."""

        def unit(connection: Connection) -> dict[str, dict[str, int]]:
            drifted, given_up = observations.drifted(connection, stack_ids), repair_records.given_up(connection, stack_ids)
            return {id_: {"drifted": drifted.get(id_, 0), "given_up": given_up.get(id_, 0)} for id_ in stack_ids}

        return await self._store.read(unit)


def _with_user_projects(connection: Connection, shown: _Views) -> _Views:
    """Add the projects of stack users to views of stacks."""
    projects = stack_users.projects_of(connection, [one["id"] for one in shown])
    return [{**one, "stack_user_project_id": projects.get(one["id"])} for one in shown]
