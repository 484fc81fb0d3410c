"""Drift, plans, causes and timelines of a service's stacks. A Heat has none of them, except previews in place of plans."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from isotherm import errors
from isotherm.cli.remote import forms
from isotherm.cli.remote.session import Asked, NotServed, ServiceAnswer
from isotherm.cli.remote.stacks import StackAddresses
from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.operations.history import PastInput
from isotherm.engine.operations.patch import Patch

Data = dict[str, Any]
# The lists of a Heat's preview, and the actions of a plan.
_PREVIEWED = {"added": "create", "updated": "update", "replaced": "replace", "deleted": "delete"}


class RemoteDrift:
    """Shows and sets drift, and asks for observations and repairs."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def show(self, name_or_id: str, *, whole: bool = False) -> Data:
        found: Data = (await self._finder.get(name_or_id, "drift", all=str(whole).lower()))["drift"]
        return found

    async def show_resource(self, name_or_id: str, name: str) -> Data:
        found: Data = (await self._finder.get(name_or_id, "resources", name, "drift"))["drift"]
        return found

    async def observe(self, name_or_id: str, name: str | None = None) -> None:
        where = () if name is None else ("resources", name)
        await self._finder.ask("POST", name_or_id, *where, "observe", asked=Asked({"wait": "true"}))

    async def converge_one(self, name_or_id: str, name: str) -> Accepted:
        return await self._finder.accepted("POST", name_or_id, "repair", asked=Asked(body={"resources": [name]}))

    async def set_watch(
        self, name_or_id: str, *, policy: str | None = "", interval: float | None = -1.0, mode: str = ""
    ) -> None:
        body: Data = {**({} if policy == "" else {"policy": policy}), **({"mode": mode} if mode else {})}
        if interval is None or interval >= 0:
            body["interval"] = interval
        await self._finder.ask("PUT", name_or_id, "drift", asked=Asked(body=body))

    async def set_resource_policy(self, name_or_id: str, name: str, policy: str | None) -> None:
        await self._finder.ask("PUT", name_or_id, "resources", name, "drift", asked=Asked(body={"policy": policy}))

    async def project_mode(self) -> str:
        return str((await self._finder.session.get("/drift"))["drift"]["mode"])

    async def set_project_mode(self, mode: str) -> None:
        await self._finder.session.ask("PUT", "/drift", Asked(body={"mode": mode}))


class RemotePlans:
    """Plans creates and updates."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def plan(self, name: str, change: Request | Patch | PastInput) -> Data:
        """Return the effect of an update of the stack, or of a create if there is no such stack."""
        if isinstance(change, PastInput):
            return _plan(await self._finder.ask("POST", name, "plan", asked=Asked(body={"generation": change.generation})))
        if isinstance(change, Request) and not await self._exists(name):
            return await self._of_create(name, change)
        existing = forms.is_patch(change)
        body = (forms.patch(change) if existing and isinstance(change, Patch)
                else forms.replace(change, await self._finder.read(name)))
        try:
            answer = await self._finder.ask("POST", name, "plan", asked=Asked(body={**body, "existing": existing}))
            return _plan(answer)
        except NotServed:
            body.pop("strict", None)
            answer = await self._finder.ask("PATCH" if existing else "PUT", name, "preview", asked=Asked(body=body))
            return _of_changes(answer.data["resource_changes"])

    async def _exists(self, name: str) -> bool:
        try:
            return not (await self._finder.read(name)).get("deletion_time")
        except errors.NotFound:
            return False

    async def _of_create(self, name: str, request: Request) -> Data:
        body, session = forms.create(name, request), self._finder.session
        try:
            return _plan(await session.ask("POST", "/plan", Asked(body=body)))
        except NotServed:
            answer = await session.ask("POST", "/stacks/preview", Asked(body=body))
            return _of_changes({"added": answer.data["stack"]["resources"]})


def _plan(answer: ServiceAnswer) -> Data:
    """Return the plan of an answer, without its token: a saved plan has a seal of its own."""
    return {name: value for name, value in answer.data["plan"].items() if name not in ("token", "token_expires")}


def _of_changes(found: Mapping[str, Any]) -> Data:
    """Return a plan that tells what a preview of Heat does: neither causes nor drift."""
    resources = [_previewed(one, action) for kind, action in _PREVIEWED.items() for one in found.get(kind) or ()]
    counts = Counter(one["action"] for one in resources)
    counts["nothing"] = len(found.get("unchanged") or ())
    content = msgspec.json.encode(found, order="deterministic")
    return {"id": hashlib.sha256(content).hexdigest()[:32], "generation": 0, "counts": dict(+counts),
            "operation_in_progress": False, "resources": resources, "left_out": 0, "waits": [], "drift": []}


def _previewed(one: Mapping[str, Any], action: str) -> Data:
    properties = one.get("properties") or {}
    changes = {name: {"from": None, "to": value} for name, value in properties.items()} if action == "create" else {}
    return {"resource_name": one["resource_name"], "resource_type": one["resource_type"], "action": action, "cause": "",
            "certain": True, "refused": "", "moved_from": None, "changes": changes, "stack": [], "line": None,
            "column": None, "drift": None}


class RemoteHistory:
    """Reads the inputs that stacks had."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def list(self, name_or_id: str) -> list[Data]:
        found: list[Data] = (await self._finder.get(name_or_id, "history"))["history"]
        return found

    async def diff(self, name_or_id: str, first: int | None = None, second: int | None = None) -> Data:
        query = {name: number for name, number in (("from", first), ("to", second)) if number is not None}
        found: Data = (await self._finder.get(name_or_id, "history", "diff", **query))["diff"]
        return found


class RemoteCauses:
    """Explains the states of resources."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def why(self, name_or_id: str, resource: str, *, with_worker: bool = False) -> Data:
        """Return the causes. The service shows the worker to its operators, whether it is asked for or not."""
        found: Data = (await self._finder.get(name_or_id, "resources", resource, "why"))["why"]
        return {**found, "worker": found["worker"] if with_worker else None}


class RemoteTimelines:
    """Reads operations and their timelines."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def operations(self, name_or_id: str, before: int | None, limit: int) -> Data:
        marker = {} if before is None else {"marker": before}
        found: Data = await self._finder.get(name_or_id, "operations", limit=limit, **marker)
        return found

    async def timeline(self, name_or_id: str, operation_id: str = "", most: int = 500) -> Data:
        if not operation_id:
            found = (await self._finder.get(name_or_id, "operations", limit=1))["operations"]
            operation_id = found[0]["id"]
        answer: Data = (await self._finder.get(name_or_id, "operations", operation_id, "timeline", limit=most))["timeline"]
        return answer
