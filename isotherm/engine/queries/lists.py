"""Lists of the resources and events of a stack, and of its nested stacks, read from rows alone.

They import no template language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from isotherm.engine.queries import views
from isotherm.engine.queries.stacks import StackFinder
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import events, lookups, resource_list, tallies

_Views = list[dict[str, Any]]
_Edges = list[tuple[str, str]]
# The number of events that one read returns.
_MOST = 1000
_OLDEST_FIRST = events.Order(descending=False)


@dataclass(frozen=True, slots=True)
class StackInTree:
    """A stack of a stack tree. `path` has the names of the resources that lead to it from the root of the tree."""

    id: str
    name: str
    path: tuple[str, ...] = ()


def stack_tree(connection: Connection, root: StackInTree, depth: int) -> list[StackInTree]:
    """Return a stack and its nested stacks, level by level down to `depth`."""
    level = [root]
    found = list(level)
    while depth > 0 and level:
        paths = {one.id: one.path for one in level}
        level = [StackInTree(one.id, one.name, (*paths[one.around], one.resource))
                 for one in resource_list.inner(connection, list(paths))]
        found += level
        depth -= 1
    return found


class ResourceList:
    """Lists the resources of a stack and their dependencies."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._project = project
        self._stacks = StackFinder(store, project)

    async def list(self, name_or_id: str, *, depth: int = 0) -> _Views:
        """Return the resources of a stack, then those of its nested stacks down to `depth`.

        `stack` is the path of the stack that a resource is in, and `requires` has the names of its requirements there.
        """
        row = await self._stacks.row(name_or_id, deleted=True)
        tree = await self._store.read(lambda connection: stack_tree(connection, StackInTree(row["id"], row["name"]), depth))
        found: _Views = []
        for one in tree:
            found += await self._store.read(partial(_resources, stack=one))
        return found

    async def edges(self, name_or_id: str) -> _Edges:
        """Return the dependencies by name: pairs of a required resource and the resource that requires it."""
        row = await self._stacks.row(name_or_id, deleted=True)
        return await self._store.read(lambda connection: lookups.edges(connection, row["id"]))

    async def count(self, name_or_id: str) -> int:
        """Return the number of resources of a stack and of all its nested stacks, the stacks themselves not counted."""
        row = await self._stacks.row(name_or_id, deleted=True)

        def unit(connection: Connection) -> int:
            level, number, stacks = [row["id"]], 0, 0
            while level:
                number += sum(tallies.of_stacks(connection, level).values())
                level = tallies.inside(connection, level)
                stacks += len(level)
            return number - stacks

        return await self._store.read(unit)


def _resources(connection: Connection, stack: StackInTree) -> _Views:
    # Of two versions with one name, each has its edges: a name counts once.
    requires: dict[str, dict[str, None]] = {}
    for need, name in lookups.edges(connection, stack.id):
        requires.setdefault(name, {})[need] = None
    return [{**views.resource(row), "stack": list(stack.path), "requires": list(requires.get(row["name"], ()))}
            for row in lookups.resources(connection, stack.id, documents=False)]


async def events_after(store: Store, stack: StackInTree, after: int, depth: int = 0) -> _Views:
    """Return the events of a stack, and of nested stacks down to `depth`, after an id: oldest first, at most a thousand."""
    def unit(connection: Connection) -> _Views:
        if not depth:
            return [views.event(row) for row in events.after(connection, stack.id, after, _MOST)]
        tree = {one.id: one for one in stack_tree(connection, stack, depth)}
        return [_nested(row, tree) for row in events.page(
            connection, list(tree), events.Filters(), _OLDEST_FIRST, {"id": after}, _MOST)]

    return await store.read(unit)


def _nested(row: lookups.Row, tree: dict[str, StackInTree]) -> dict[str, Any]:
    return {**views.event(row), "stack": list(tree[row["stack_id"]].path)}


class EventList:
    """Lists the events of a stack, oldest first."""

    def __init__(self, store: Store, project: str) -> None:
        self._store = store
        self._project = project
        self._stacks = StackFinder(store, project)

    async def list(self, name_or_id: str, *, after: int = 0, last: int | None = None, depth: int = 0) -> _Views:
        """Return the events after an id, at most a thousand; with `last`, the newest ones.

        With a depth, events of nested stacks too, each with the path of its stack.
        """
        row = await self._stacks.row(name_or_id, deleted=True)
        root = StackInTree(row["id"], row["name"])
        if last is None:
            return await events_after(self._store, root, after, depth)

        def unit(connection: Connection) -> Sequence[dict[str, Any]]:
            if not depth:
                return [views.event(one) for one in events.newest(connection, root.id, last)]
            tree = {one.id: one for one in stack_tree(connection, root, depth)}
            found = events.page(connection, list(tree), events.Filters(), events.Order(), None, last)
            return [_nested(one, tree) for one in reversed(found)]

        return list(await self._store.read(unit))
