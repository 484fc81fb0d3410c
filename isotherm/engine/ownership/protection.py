"""Protection of stacks and of the objects of their resources: shown, asked for, lifted.

A request for protection is no operation: it holds from its commit on, also for the operation in progress, which fails where
it would break the protection. The store checks it with each intent (`store.versions.protection`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isotherm import errors
from isotherm.engine.queries.stacks import StackFinder
from isotherm.engine.service_ports import ServicePorts
from isotherm.identity.requester import Requester
from isotherm.planning import export_document
from isotherm.resources.validation import protection as words
from isotherm.states import Protection
from isotherm.store.database.writer import Connection
from isotherm.store.reads import lookups
from isotherm.store.versions import protection


class ProtectionService:
    """Protects the stacks of one project, and their resources."""

    def __init__(self, ports: ServicePorts, requester: Requester) -> None:
        self._store = ports.store
        self._username = requester.username
        self._stacks = StackFinder(ports.store, requester.project)

    async def show(self, name_or_id: str) -> dict[str, Any]:
        """Return the protection of a stack, and its protected resources."""
        stack = await self._stacks.row(name_or_id)
        found = await self._store.read(lambda connection: protection.protected(connection, stack["id"]))
        return {
            "protected": bool(stack["protected"]), "by": stack["protector"] if stack["protected"] else None,
            "resources": [_view(row) for row in found],
        }

    async def show_resource(self, name_or_id: str, name: str) -> dict[str, Any]:
        """Return the protection of one resource."""
        stack = await self._stacks.row(name_or_id)

        def unit(connection: Connection) -> dict[str, Any]:
            _expect_resource(connection, stack, name)
            found = [row for row in protection.protected(connection, stack["id"]) if row["name"] == name]
            # The current version comes first.
            found.sort(key=lambda row: bool(row["superseded"]))
            return _view(found[0]) if found else {"resource_name": name, "protect": [], "user": None, "template": []}

        return await self._store.read(unit)

    async def protect_stack(self, name_or_id: str) -> None:
        """Protect a stack from delete."""
        stack = await self._stacks.row(name_or_id)
        await self._store.write(lambda connection: protection.protect_stack(connection, stack["id"], self._username))

    async def unprotect_stack(self, name_or_id: str) -> None:
        """Lift the protection of a stack. Its resources stay protected."""
        stack = await self._stacks.row(name_or_id)
        await self._store.write(lambda connection: protection.unprotect_stack(connection, stack["id"]))

    async def protect_resource(self, name_or_id: str, name: str, from_: Sequence[str]) -> None:
        """Protect a resource from `replace`, `delete`, `update` or `all`, in addition to what protects it already."""
        level = words.level_of(from_)
        if level is Protection.NONE:
            raise errors.UserError("Name at least one thing to protect the resource from.",
                                   hint=f"One of {', '.join(words.WORDS)}; to lift a protection, ask for that.")
        stack = await self._stacks.row(name_or_id)

        def unit(connection: Connection) -> None:
            _expect_resource(connection, stack, name)
            protection.protect(connection, stack["id"], name, level, self._username)

        await self._store.write(unit)

    async def unprotect_resource(self, name_or_id: str, name: str) -> None:
        """Lift every protection of a resource. A template that asks for one protects it again with the next update."""
        stack = await self._stacks.row(name_or_id)

        def unit(connection: Connection) -> None:
            _expect_resource(connection, stack, name)
            protection.unprotect(connection, stack["id"], name)

        await self._store.write(unit)


def _expect_resource(connection: Connection, stack: lookups.Row, name: str) -> None:
    if not protection.has_resource(connection, stack["id"], name):
        raise errors.NotFound(f"The Resource ({name}) could not be found in Stack {stack['name']}.",
                              kind="ResourceNotFound", hint="`isotherm resources STACK` shows what there is.")


def _view(row: Any) -> dict[str, Any]:
    by = protection.of(row)
    return {
        "resource_name": row["name"], "protect": words.words_of(protection.level(by)),
        **export_document.protected_by(by),
    }
