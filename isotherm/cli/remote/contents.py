"""The contents of a service's stacks: resources, events, inputs, outputs, and signals to resources."""

from __future__ import annotations

import builtins
from typing import Any

from isotherm.cli.remote import forms
from isotherm.cli.remote.session import Asked, NotServed
from isotherm.cli.remote.stacks import StackAddresses

Data = dict[str, Any]
# Events of one answer; levels of nested stacks that are counted.
_PAGE, _DEEPEST = 1000, 100


class RemoteResources:
    """Reads resources."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def list(self, name_or_id: str, *, depth: int = 0) -> list[Data]:
        try:
            found: list[Data] = (await self._finder.get(name_or_id, "tree", nested_depth=depth))["resources"]
        except NotServed:
            found = await self._of_heat(name_or_id, depth)
        return found

    async def _of_heat(self, name_or_id: str, depth: int) -> builtins.list[Data]:
        given = (await self._finder.get(name_or_id, "resources", nested_depth=depth))["resources"]
        found = [forms.resource(one) for one in given]
        by_name = {(*one["stack"], one["resource_name"]): one for one in found}
        for one, shown in zip(given, found, strict=True):
            for dependant in one.get("required_by") or ():
                if (*shown["stack"], dependant) in by_name:
                    by_name[*shown["stack"], dependant]["requires"].append(shown["resource_name"])
        return found

    async def count(self, name_or_id: str) -> int:
        """Return the number of resources of the whole tree; resources that are nested stacks are not counted."""
        found = await self.list(name_or_id, depth=_DEEPEST)
        stacks = {tuple(one["stack"]) for one in found if one["stack"]}
        return len(found) - len(stacks)

    async def show(self, name_or_id: str, name: str) -> Data:
        found: Data = (await self._finder.get(name_or_id, "resources", name))["resource"]
        action, _, status = found["resource_status"].partition("_")
        return {**found, "action": action, "status": status}


class RemoteEvents:
    """Reads events."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def list(self, name_or_id: str, *, after: int = 0, last: int | None = None, depth: int = 0) -> list[Data]:
        marker = {"marker": after} if after else {}
        nested = {"nested_depth": depth} if depth else {}
        order = {"sort_dir": "asc", "limit": _PAGE} if last is None else {"sort_dir": "desc", "limit": last}
        found = (await self._finder.get(name_or_id, "events", **order, **marker, **nested))["events"]
        shown = [forms.event(one, nested=depth > 0) for one in found]
        return shown if last is None else shown[::-1]


class RemoteInputs:
    """Reads the inputs of stacks."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def parameters(self, name_or_id: str) -> dict[str, str]:
        return dict((await self._finder.read(name_or_id)).get("parameters", {}))

    async def template(self, name_or_id: str) -> Any:
        return await self._finder.get(name_or_id, "template")

    async def environment(self, name_or_id: str) -> Data:
        found: Data = await self._finder.get(name_or_id, "environment")
        return found

    async def files(self, name_or_id: str) -> dict[str, str]:
        found: dict[str, str] = await self._finder.get(name_or_id, "files")
        return found


class RemoteOutputs:
    """Reads outputs."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def list(self, name_or_id: str) -> list[Data]:
        found: list[Data] = (await self._finder.read(name_or_id, resolve_outputs="true")).get("outputs") or []
        return found


class RemoteSignals:
    """Signals resources, reads and clears hooks."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def send(self, name_or_id: str, resource: str, details: Any = None, *, signal_id: str = "") -> None:
        query = {"signal_id": signal_id} if signal_id else {}
        await self._finder.ask("POST", name_or_id, "resources", resource, "signal", asked=Asked(query, details))

    async def clear_hook(self, name_or_id: str, resource: str, hook: Any) -> None:
        await self.send(name_or_id, resource, {"unset_hook": hook})

    async def hooks(self, name_or_id: str) -> list[Data]:
        found: list[Data] = (await self._finder.get(name_or_id, "hooks"))["hooks"]
        return found

    async def mark_unhealthy(self, name_or_id: str, resource: str, unhealthy: bool = True, reason: str = "") -> None:
        body = {"mark_unhealthy": unhealthy, "resource_status_reason": reason}
        await self._finder.ask("PATCH", name_or_id, "resources", resource, asked=Asked(body=body))
