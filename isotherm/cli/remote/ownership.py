"""Protection, forgetting, moves and imports of what a service's stacks own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.cli.remote import forms
from isotherm.cli.remote.session import Asked, NotServed
from isotherm.cli.remote.stacks import StackAddresses
from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.operations.patch import Patch

Data = dict[str, Any]
_UNPROTECTED: Data = {"protected": False, "by": None, "resources": []}


class RemoteProtection:
    """Protects stacks and resources, and lifts protections."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def show(self, name_or_id: str) -> Data:
        """Return the protection of a stack, and its protected resources. A Heat protects nothing."""
        try:
            found: Data = (await self._finder.get(name_or_id, "protection"))["protection"]
        except NotServed:
            found = dict(_UNPROTECTED)
        return found

    async def protect_stack(self, name_or_id: str) -> None:
        await self._finder.ask("PUT", name_or_id, "protection", asked=Asked(body={"protect": ["delete"]}))

    async def unprotect_stack(self, name_or_id: str) -> None:
        await self._finder.ask("DELETE", name_or_id, "protection")

    async def protect_resource(self, name_or_id: str, name: str, from_: Sequence[str]) -> None:
        body = {"protect": list(from_)}
        await self._finder.ask("PUT", name_or_id, "resources", name, "protection", asked=Asked(body=body))

    async def unprotect_resource(self, name_or_id: str, name: str) -> None:
        await self._finder.ask("DELETE", name_or_id, "resources", name, "protection")


class RemoteForget:
    """Removes stacks and resources, and leaves their objects in place."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def stack(self, name_or_id: str, *, force: bool = False) -> Accepted:
        return await self._finder.accepted("POST", name_or_id, "forget", asked=_forced(force))

    async def resource(self, name_or_id: str, name: str, *, force: bool = False) -> Accepted:
        return await self._finder.accepted("POST", name_or_id, "resources", name, "forget", asked=_forced(force))


def _forced(force: bool) -> Asked:
    return Asked({"force": "true"} if force else {})


class RemoteMoves:
    """Moves resources between stacks."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def move(
        self, name_or_id: str, name: str, to: str, new_name: str = "", *, with_values: bool = False
    ) -> Data:
        body = {"stack": to, "resource": new_name, "with_values": with_values}
        answer = await self._finder.ask("POST", name_or_id, "resources", name, "move", asked=Asked(body=body))
        return dict(answer.data["move"])


class RemoteImports:
    """Imports existing objects into stacks, new or old."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def plan(self, name: str, change: Request | Patch, objects: Mapping[str, str]) -> Data:
        present = await self._present(name)
        if present is None:
            asked = Asked(body=_create(name, change, objects))
            return dict((await self._finder.session.ask("POST", "/import/plan", asked)).data["import"])
        answer = await self._finder.ask("POST", name, "import", "plan", asked=Asked(body=_update(change, present, objects)))
        return dict(answer.data["import"])

    async def take(
        self, name: str, change: Request | Patch, objects: Mapping[str, str], *, generation: int | None = None
    ) -> Accepted:
        present = await self._present(name)
        if present is None:
            answer = await self._finder.session.ask("POST", "/import", Asked(body=_create(name, change, objects)))
            return Accepted(answer.data["stack"]["id"], answer.operation_id, 0)
        asked = Asked(body=_update(change, present, objects), generation=generation)
        return await self._finder.accepted("POST", name, "import", asked=asked)

    async def template(self, objects: Mapping[str, str], types: Mapping[str, str]) -> Data:
        asked = Asked(body={"objects": dict(objects), "types": dict(types)})
        return dict((await self._finder.session.ask("POST", "/import/template", asked)).data["template"])

    async def _present(self, name: str) -> Data | None:
        """Return the stack as the API shows it, None if it is to be created."""
        try:
            found = await self._finder.read(name)
        except errors.NotFound:
            return None
        return None if found.get("deletion_time") else found


def _create(name: str, change: Request | Patch, objects: Mapping[str, str]) -> Data:
    return {"stack_name": name, **forms.body(change), "objects": dict(objects)}


def _update(change: Request | Patch, present: Data, objects: Mapping[str, str]) -> Data:
    existing = forms.is_patch(change)
    body = forms.patch(change) if existing and isinstance(change, Patch) else forms.replace(change, present)
    body.pop("strict", None)
    return {**body, "existing": existing, "objects": dict(objects)}
