"""Stacks of a service: reads, operations, snapshots and exports."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.cli.remote import forms
from isotherm.cli.remote.session import Asked, ServiceAnswer, Session, path_of
from isotherm.engine.operations.accept import Accepted, Request
from isotherm.engine.operations.patch import Patch
from isotherm.engine.operations.stacks import nothing_runs
from isotherm.engine.ownership.export import Abandoned

Data = dict[str, Any]
_PAGE = 1000
_FULL: Mapping[str, str] = {"with_progress": "true"}


class StackAddresses:
    """Finds the addresses of stacks, once for each command."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: dict[str, Data] = {}
        #: By stack: the last event before an operation, of a Heat, whose events do not name their operation.
        self.last_events: dict[str, Any] = {}

    async def path(self, name_or_id: str) -> str:
        """Return the path of a stack: by its name or, also if it is deleted, by its id."""
        known = self._known.get(name_or_id) or await self.read(name_or_id)
        return path_of("stacks", known["stack_name"], known["id"])

    async def read(self, name_or_id: str, **query: str) -> Data:
        """Return a stack as the API shows it. Raises NotFound."""
        if "/" in name_or_id:
            raise _not_found(name_or_id)  # it would be another path
        query = {"resolve_outputs": "false", **query}
        found = await self.session.ask("GET", path_of("stacks", name_or_id), Asked(query))
        if found.location:
            # The service may know itself by another address: only the end of the location counts.
            path = "/stacks/" + found.location.partition("/stacks/")[2].partition("?")[0]
            found = await self.session.ask("GET", path, Asked(query))
        stack: Data = found.data["stack"]
        self._known[name_or_id] = self._known[stack["id"]] = stack
        return stack

    async def is_isotherm(self, name_or_id: str) -> bool:
        """Return whether the service that has the stack is an Isotherm. A Heat's stacks have no generation."""
        known = self._known.get(name_or_id) or await self.read(name_or_id)
        return "generation" in known

    async def get(self, name_or_id: str, *parts: str, **query: Any) -> Any:
        return await self.session.get(await self.path(name_or_id) + path_of(*parts), **query)

    async def ask(self, method: str, name_or_id: str, *parts: str, asked: Asked = Asked()) -> ServiceAnswer:  # noqa: B008 - frozen
        return await self.session.ask(method, await self.path(name_or_id) + path_of(*parts), asked)

    async def accepted(self, method: str, name_or_id: str, *parts: str, asked: Asked = Asked()) -> Accepted:  # noqa: B008 - frozen
        """Send a request for an operation on a stack."""
        if not await self.is_isotherm(name_or_id):
            await self._note_last_event(name_or_id)
        answer = await self.ask(method, name_or_id, *parts, asked=asked)
        return Accepted(self._known[name_or_id]["id"], answer.operation_id, 0)

    async def _note_last_event(self, name_or_id: str) -> None:
        found = (await self.get(name_or_id, "events", sort_dir="desc", limit=1))["events"]
        if found:
            self.last_events[self._known[name_or_id]["id"]] = found[0]["id"]


class RemoteStacks:
    """Reads stacks of a service, and operates on them."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder
        self._session = finder.session
        self._drift: dict[str, dict[str, int]] = {}

    async def list(self) -> list[Data]:
        found: builtins.list[Data] = []
        marker: dict[str, str] = {}
        while True:
            page = (await self._session.get("/stacks", sort_keys="creation_time", sort_dir="asc", with_drift="true",
                                            show_hidden="true", limit=_PAGE, **marker))["stacks"]
            found += page
            if len(page) < _PAGE:
                break
            marker = {"marker": page[-1]["id"]}
        self._drift |= {one["id"]: forms.drift(one) for one in found}
        return [forms.stack(one, await self._session.project()) for one in found]

    async def find(self, name_or_id: str) -> Data:
        found = forms.stack(await self._finder.read(name_or_id), await self._session.project())
        if found["deletion_time"]:
            raise _not_found(name_or_id)
        return found

    async def show(self, name_or_id: str) -> Data:
        found = await self._finder.read(name_or_id, **_FULL)
        self._drift[found["id"]] = forms.drift(found)
        return {**forms.stack(found, await self._session.project()), **forms.progress(found)}

    async def drift_counts(self, stack_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return the drift of stacks that were listed or shown: it came with them."""
        return {id_: self._drift[id_] for id_ in stack_ids}

    async def create(self, name: str, request: Request) -> Accepted:
        answer = await self._session.ask("POST", "/stacks", Asked(body=forms.create(name, request)))
        return Accepted(answer.data["stack"]["id"], answer.operation_id, 0)

    async def update(self, name_or_id: str, change: Request | Patch, *, generation: int | None = None) -> Accepted:
        if isinstance(change, Patch) and forms.is_patch(change):
            method, body = "PATCH", forms.patch(change)
        else:
            method, body = "PUT", forms.replace(change, await self.find(name_or_id))
        if not await self._finder.is_isotherm(name_or_id):
            body.pop("strict", None)
            if change.target or change.exclude or change.moved:
                raise errors.UserError("A Heat updates whole stacks and moves no resources.", kind="NotSupported",
                                       hint="Leave --target, --exclude and --move out.")
        return await self._finder.accepted(method, name_or_id, asked=Asked(body=body, generation=generation))

    async def delete(self, name_or_id: str, *, force: bool = False) -> Accepted:
        return await self._finder.accepted("DELETE", name_or_id, asked=Asked({"force": "true"} if force else {}))

    async def rollback(self, name_or_id: str, *, to: int | None = None) -> Accepted:
        return await self._act(name_or_id, "roll_back", None if to is None else {"to": to})

    async def retry(self, name_or_id: str, names: Sequence[str] = ()) -> Accepted:
        return await self._act(name_or_id, "retry", {"resources": [*names]} if names else None)

    async def cancel(self, name_or_id: str, *, rollback: bool = True) -> Accepted:
        """Cancel the operation in progress. Heat's API rolls back updates only; an Isotherm rolls back any operation."""
        stack = await self.find(name_or_id)
        if stack["status"] != "IN_PROGRESS":
            raise nothing_runs(stack["stack_name"])
        back = "cancel_update" if stack["action"] == "UPDATE" else "roll_back"
        return await self._act(name_or_id, back if rollback else "cancel_without_rollback")

    async def check(self, name_or_id: str) -> Accepted:
        return await self._act(name_or_id, "check")

    async def suspend(self, name_or_id: str) -> Accepted:
        return await self._act(name_or_id, "suspend")

    async def resume(self, name_or_id: str) -> Accepted:
        return await self._act(name_or_id, "resume")

    async def _act(self, name_or_id: str, action: str, fields: Data | None = None) -> Accepted:
        return await self._finder.accepted("POST", name_or_id, "actions", asked=Asked(body={action: fields}))


def _not_found(name: str) -> errors.NotFound:
    return errors.NotFound(f"The Stack ({name}) could not be found.", hint="`isotherm list` shows what there is.")


class RemoteSnapshots:
    """Takes, reads, deletes and restores the snapshots of stacks."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def take(self, name_or_id: str, snapshot_name: str | None = None) -> Accepted:
        answer = await self._finder.ask("POST", name_or_id, "snapshots", asked=Asked(body={"name": snapshot_name}))
        stack = await self._finder.read(name_or_id)
        return Accepted(stack["id"], answer.operation_id, 0)

    async def list(self, name_or_id: str) -> list[Data]:
        found = (await self._finder.get(name_or_id, "snapshots"))["snapshots"]
        return [{key: one.get(key) for key in _SNAPSHOT} for one in found]

    async def show(self, name_or_id: str, snapshot: str, *, hidden: bool = False) -> Data:
        if hidden:
            raise errors.UserError("A service does not send the hidden values of a snapshot.", kind="NotSupported",
                                   hint="Leave --show-hidden out.")
        found = (await self._finder.get(name_or_id, "snapshots", await self._id(name_or_id, snapshot)))["snapshot"]
        return {**{key: found.get(key) for key in _SNAPSHOT}, "data": found["data"]}

    async def delete(self, name_or_id: str, snapshot: str) -> None:
        await self._finder.ask("DELETE", name_or_id, "snapshots", await self._id(name_or_id, snapshot))

    async def restore(self, name_or_id: str, snapshot: str) -> Accepted:
        return await self._finder.accepted("POST", name_or_id, "snapshots", await self._id(name_or_id, snapshot), "restore")

    async def _id(self, name_or_id: str, snapshot: str) -> str:
        """Return the id of a snapshot that is named by its id or its name."""
        found = await self.list(name_or_id)
        matches = [one for one in found if one["id"] == snapshot] or [one for one in found if one["name"] == snapshot]
        if len(matches) > 1:
            raise errors.Conflict(f"Stack {name_or_id} has several snapshots that are called {snapshot}.",
                                  hint="Name it by its id.")
        return str(matches[0]["id"]) if matches else snapshot


_SNAPSHOT = ("id", "name", "action", "status", "status_reason", "creation_time")


class RemoteExports:
    """Exports, abandons and adopts stacks."""

    def __init__(self, finder: StackAddresses) -> None:
        self._finder = finder

    async def export(self, name_or_id: str, *, hidden: bool = False) -> Data:
        found: Data = await self._finder.get(name_or_id, "export", show_hidden=str(hidden).lower())
        return found

    async def abandon(self, name_or_id: str, *, hidden: bool = False, force: bool = False) -> Abandoned:
        query = {"show_hidden": str(hidden).lower(), **({"force": "true"} if force else {})}
        answer = await self._finder.ask("DELETE", name_or_id, "abandon", asked=Asked(query))
        stack = await self._finder.read(answer.data["id"]) if answer.operation_id else {"id": ""}
        return Abandoned(Accepted(stack["id"], answer.operation_id, 0), answer.data)

    async def adopt(self, name: str, data: bytes, change: Patch | None = None) -> Accepted:
        body = forms.adopt(name, data, change or Patch())
        answer = await self._finder.session.ask("POST", "/stacks", Asked(body=body))
        return Accepted(answer.data["stack"]["id"], answer.operation_id, 0)
