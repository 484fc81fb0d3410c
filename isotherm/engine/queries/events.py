"""Events of a stack and of its nested stacks, in pages, and single events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec.structs import replace

from isotherm import errors
from isotherm.engine.queries import views
from isotherm.engine.queries.lists import EventList, StackInTree, stack_tree
from isotherm.engine.queries.stack_inputs import StackInputs
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import documents, masking
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.reads import events as listing
from isotherm.store.reads import lookups, resource_list
from isotherm.store.reads.events import Filters, Order

__all__ = ["EventQuery", "EventService", "Filters", "Order"]

# The number of rows that one query reads.
PIECE = 200


@dataclass(frozen=True, slots=True)
class EventQuery:
    """The filters, order and limits of a list of events."""

    filters: Filters = Filters()  # noqa: RUF009 - frozen
    order: Order = Order()  # noqa: RUF009 - frozen
    limit: int | None = None
    # The id of the event after which the list begins; an unknown id is ignored.
    marker: str = ""
    depth: int = 0


# The stacks whose events are shown, by id.
_Tree = dict[str, StackInTree]
_Views = list[dict[str, Any]]


class EventService(EventList):
    """Reads the events of one project's stacks, and of the stacks nested in them."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        super().__init__(ports.store, requester.project)
        self._ports = ports
        self._inputs = StackInputs(ports, requester.project)

    async def pages(self, name_or_id: str, query: EventQuery) -> AsyncIterator[_Views]:
        """Yield the events in pieces of a few hundred."""
        tree = await self._tree(await self._stacks.row(name_or_id, deleted=True), query.depth)
        named = [one.id for one in tree.values() if one.name in (query.filters.name or ())]
        filters = replace(query.filters, stacks_named=named)
        after, left = await self._marked(tree, query.marker), query.limit
        while left is None or left > 0:
            size = PIECE if left is None else min(PIECE, left)
            found = await self._ports.store.read(partial(_page, list(tree), filters, query.order, after, size))
            if found:
                yield [_view(row, tree) for row in found]
            if len(found) < size:
                return
            after, left = found[-1], None if left is None else left - size

    async def show(self, name_or_id: str, resource: str, id_: str) -> dict[str, Any]:
        """Return one event of a resource (or of the stack, under its own name), with the resource's present properties."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        tree = {stack["id"]: StackInTree(stack["id"], stack["name"])}
        row = await self._marked(tree, id_)
        if row is None or (row["name"] or stack["name"]) != resource:
            raise errors.NotFound(f"No event {id_} found", kind="HTTPNotFound")
        return {**_view(row, tree), "resource_type": row["type"], "resource_properties": await self._properties(stack, row)}

    async def _marked(self, tree: _Tree, id_: str) -> listing.Row | None:
        number = resource_list.whole(id_)
        if number is None:
            return None
        return await self._ports.store.read(lambda connection: listing.one(connection, list(tree), number))

    async def _tree(self, stack: lookups.Row, depth: int) -> _Tree:
        root = StackInTree(stack["id"], stack["name"])
        found = await self._ports.store.read(lambda connection: stack_tree(connection, root, depth))
        return {one.id: one for one in found}

    async def _properties(self, stack: lookups.Row, event: listing.Row) -> dict[str, Any]:
        """Return the properties of the event's resource if its object is still the same, with secrets masked."""
        if not event["name"]:
            return {}

        def unit(connection: Connection) -> Sequence[Any]:
            nodes = resource_list.node_ids(connection, [stack["id"]], [event["name"]])
            found = [row for row in resource_list.page(connection, nodes)
                     if row["id"] is not None and event["physical_id"] in (None, row["physical_id"])]
            return list(rows.versions(connection, [row["id"] for row in found]).values())

        versions = await self._ports.store.read(unit)
        if not versions:
            return {}
        found = masking.without_write_only(self._ports.types.types.get(versions[0].implementation),
                                              documents.decode(versions[0].properties, dict[str, Any]))
        shown: dict[str, Any] = await self._ports.planning.masked(await self._inputs.secrets(stack), found)
        return shown


def _page(
    stack_ids: Sequence[str], filters: Filters, order: Order, after: listing.Row | None, limit: int, connection: Connection
) -> Sequence[listing.Row]:
    return listing.page(connection, stack_ids, filters, order, after, limit)


def _view(row: listing.Row, tree: _Tree) -> dict[str, Any]:
    stack = tree[row["stack_id"]]
    return {**views.event(row), "resource_name": row["name"] or stack.name, "of_stack": not row["name"],
            "stack": {"id": stack.id, "stack_name": stack.name}, "stack_path": list(stack.path)}
