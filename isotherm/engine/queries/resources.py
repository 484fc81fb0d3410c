"""Resources of a stack and of its nested stacks, in pages, and single resources with live attributes.

A long list is read in pieces, so that other requests get their turn in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.engine import stored_ports
from isotherm.engine.queries import live_attributes, views
from isotherm.engine.queries.lists import ResourceList
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.context import software
from isotherm.resources.context.signals import Signal
from isotherm.states import Action, NodeKind, Status
from isotherm.store import rows
from isotherm.store.database.writer import Connection
from isotherm.store.reads import lookups
from isotherm.store.reads import resource_list as listing
from isotherm.store.reads.resource_list import Filters
from isotherm.store.records import Version
from isotherm.store.signals import signals, waiters
from isotherm.template.model import definitions

__all__ = ["Filters", "ResourceService"]

# The attribute with the configuration of the agent on a server; the metadata of the server shows it.
AGENT_ATTRIBUTE = "os_collect_config"
# The number of rows that one query reads.
PIECE = 100


@dataclass(frozen=True, slots=True)
class _StackInfo:
    """The stack of some resources, as their views show it."""

    id: str
    name: str
    since: float
    # Of a nested stack: the name of its resource in the outer stack.
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some resources, with the data that their views need."""

    found: Sequence[listing.Row]
    required_by: dict[int, list[str]]
    versions: dict[int, Version]


_Views = list[dict[str, Any]]


class ResourceService(ResourceList):
    """Reads the resources of one project's stacks, and of the stacks nested in them."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        super().__init__(ports.store, requester.project)
        self._ports = ports

    async def pages(
        self, name_or_id: str, filters: Filters = Filters(), *, depth: int = 0,  # noqa: B008 - frozen
        detail: bool = False,
    ) -> AsyncIterator[_Views]:
        """Yield the resources of a stack, then those of its nested stacks, level by level down to `depth`."""
        level: Sequence[_StackInfo] = [await self._info(await self._stacks.row(name_or_id, deleted=True))]
        while level:
            for start in range(0, len(level), PIECE):
                async for piece in self._pieces(level[start : start + PIECE], filters, detail=detail):
                    yield piece
            depth -= 1
            level = await self._inner(level) if depth >= 0 else []

    async def show(self, name_or_id: str, name: str, *, attributes: Collection[str] = ()) -> dict[str, Any]:
        """Return one resource with every attribute of its type, and with the attributes named in `attributes`."""
        stack = await self._stacks.row(name_or_id, deleted=True)
        around = await self._info(stack)

        def unit(connection: Connection) -> _Piece:
            nodes = listing.node_ids(connection, [stack["id"]], [name])
            found = listing.page(connection, nodes)
            # An old version of the same name may be about to be deleted: prefer the other one.
            found.sort(key=lambda row: bool(row["kind"] == NodeKind.CLEANUP))
            return _piece(connection, found[:1], detail=True)

        piece = await self._ports.store.read(unit)
        if not piece.found:
            raise errors.NotFound(f"The Resource ({name}) could not be found in Stack {stack['name']}.",
                                  kind="ResourceNotFound", hint="`isotherm resources STACK` shows what there is.")
        return await self._view(piece, piece.found[0], around, attributes)

    async def metadata(self, name_or_id: str, resource: str) -> Any:
        """Return the present metadata of a resource, with data that its signals and deployments add."""
        stack = await self._stacks.row(name_or_id)

        def unit(connection: Connection) -> tuple[signals.Addressee, Version, signals.Kept | None]:
            to = signals.addressee(connection, stack["id"], resource)
            found = rows.versions(connection, [to.id])[to.id]
            return to, found, signals.inbox(connection, stack["id"], found.token, [to.id])

        to, version, box = await self._ports.store.read(unit)
        received = () if box is None else [
            Signal(number, key, documents.decode_any(kept)) for number, key, kept in box.signals
        ]
        type_ = self._ports.types.types.get(to.implementation, contract.Resource)
        shown = type_.metadata_with(documents.decode_any(version.metadata) or {}, received)
        if not type_.traits.shows_deployments:
            return shown
        agent = await self._live().one(to.implementation, version, stack["name"], AGENT_ATTRIBUTE)
        return {**shown, **(agent if isinstance(agent, dict) else {}), **await self._deployments(stack, to)}

    async def metadata_of_version(self, stack_id: str, token: str) -> Any:
        """Return the metadata of one version of a resource, as the owner of its signed URL may. Raises NotFound if the
        version is gone or was replaced."""
        stack = await self._stacks.row(stack_id)

        def unit(connection: Connection) -> str | None:
            name = waiters.name_of(connection, stack["id"], token)
            is_current = name is not None and signals.addressee(connection, stack["id"], name).token == token
            return name if is_current else None

        name = await self._ports.store.read(unit)
        if stack["id"] != stack_id or name is None:
            raise errors.NotFound("The resource of this URL is gone.", kind="ResourceNotFound")
        return await self.metadata(stack_id, name)

    async def _deployments(self, stack: lookups.Row, to: signals.Addressee) -> dict[str, Any]:
        kept = stored_ports.StoredSoftware(self._ports.store, self._ports.clock)
        found = await kept.deployed(stack["id"], to.physical_id or "")
        return {"deployments": [software.shown(one) for one in found]}

    async def _pieces(
        self, level: Sequence[_StackInfo], filters: Filters, *, detail: bool
    ) -> AsyncIterator[_Views]:
        stacks = {one.id: one for one in level}
        nodes = await self._ports.store.read(lambda connection: listing.node_ids(connection, list(stacks), filters.name))
        for start in range(0, len(nodes), PIECE):
            piece = await self._piece(nodes[start : start + PIECE], filters, detail=detail)
            shown = [await self._view(piece, row, stacks[row["stack_id"]], () if detail else None) for row in piece.found]
            yield [one for one in shown if filters.type is None or filters.type in one["resource_type"]]

    async def _piece(self, nodes: Sequence[int], filters: Filters, *, detail: bool) -> _Piece:
        return await self._ports.store.read(
            lambda connection: _piece(
                connection, listing.page(connection, nodes, filters, definitions=detail), detail=detail))

    async def _inner(self, level: Sequence[_StackInfo]) -> Sequence[_StackInfo]:
        found = await self._ports.store.read(lambda connection: listing.inner(connection, [one.id for one in level]))
        since = {one.id: one.since for one in level}
        return [_StackInfo(one.id, one.name, since[one.around], one.resource) for one in found]

    async def _info(self, stack: lookups.Row) -> _StackInfo:
        owner_id, resource = stack["owner_id"], None
        if owner_id is not None:
            resource = await self._ports.store.read(
                lambda connection: listing.parent_resource(connection, stack["id"], owner_id))
        return _StackInfo(stack["id"], stack["name"], stack["updated_at"] or stack["created_at"], resource)

    async def _view(
        self, piece: _Piece, row: listing.Row, around: _StackInfo, attributes: Collection[str] | None
    ) -> dict[str, Any]:
        """Return the view of a resource; with attributes unless they are None."""
        target = None if row["definition"] is None else documents.decode(row["definition"], documents.Target)
        type_ = row["type"] or ("" if target is None else definitions.thaw(target.definition).type)
        made_at = around.since if row["created_at"] is None else row["created_at"]
        child = None if row["child_id"] is None else {"id": row["child_id"], "stack_name": row["child_name"]}
        view = {
            "stack": {"id": around.id, "stack_name": around.name}, "nested": child, "parent_resource": around.resource,
            "resource_name": row["name"], "resource_type": type_, "physical_resource_id": row["physical_id"],
            "action": Action(row["action"]).name, "status": Status(row["status"]).name, "reason": row["reason"] or "",
            "creation_time": views.time(made_at), "updated_time": views.time(row["updated_at"] or made_at),
            "required_by": piece.required_by.get(row["node_id"], []),
        }
        if attributes is not None:
            view["description"] = "" if target is None else definitions.thaw(target.definition).description
            implementation = row["implementation"] or ("" if target is None else target.implementation)
            version = piece.versions.get(row["id"])
            found = await self._live().of(implementation, version, around.name, attributes)
            view["attributes"] = await self._ports.planning.masked(await self._ports.planning.all_secrets(around.id), found)
        return view

    def _live(self) -> live_attributes.LiveAttributes:
        ports = self._ports
        return live_attributes.LiveAttributes(
            ports.store, ports.types, ports.planning, lambda: ports.reading_context(self._project))


def _piece(connection: Connection, found: Sequence[listing.Row], *, detail: bool) -> _Piece:
    versions = rows.versions(connection, [row["id"] for row in found if row["id"] is not None]) if detail else {}
    return _Piece(found, listing.required_by(connection, [row["node_id"] for row in found]), versions)
