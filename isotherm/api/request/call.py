"""The argument of every handler: the request, the caller, and the Orchestrator of the project in the path."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import Request

from isotherm import errors
from isotherm.api.http import bodies, faults, queries
from isotherm.api.http.links import Links
from isotherm.api.policy.enforcer import Policy
from isotherm.api.request.service import ApiPorts
from isotherm.engine.orchestrator import Orchestrator
from isotherm.engine.queries.stacks import Kind
from isotherm.identity.caller import Caller
from isotherm.identity.requester import Requester
from isotherm.resources.registry import Registry

T = TypeVar("T")


@dataclass
class Call:
    """One request to a handler."""

    request: Request
    caller: Caller
    service: ApiPorts
    policy: Policy
    # Authenticates the request again and checks the rule of the route; raises a fault.
    admit: Callable[[], Awaitable[Caller]]

    @property
    def path(self) -> Mapping[str, str]:
        return self.request.path_params

    @property
    def query(self) -> QueryParams:
        return self.request.query_params

    @cached_property
    def project(self) -> str:
        """The project to act in: that of the path, or the owner's if an admin names an object by its id."""
        return self.path["project"]

    @cached_property
    def orchestrator(self) -> Orchestrator:
        return self._orchestrator()

    def _orchestrator(self, credential: str = "") -> Orchestrator:
        return self.service.orchestrator_for(Requester(
            self.project, self.caller.user_name, lambda type_: self.policy.allows_type(type_, self.caller),
            self.caller.services, credential, self._token))

    @property
    def _token(self) -> str:
        """The caller's token where it is one of the project: an admin may act in another."""
        return self.caller.token if self.caller.project == self.project else ""

    @cached_property
    def types(self) -> Registry:
        """The resource types, with the services of the caller's catalog."""
        return self.service.types.limited(None, self.caller.services)

    @asynccontextmanager
    async def delegated(self, stack_id: str | None = None) -> AsyncIterator[Orchestrator]:
        """Yield an Orchestrator that binds the caller's credential to the stack it creates or updates."""
        async with self.service.delegation.delegated(self.caller, self.project, stack_id) as credential:
            yield self._orchestrator(credential)

    @cached_property
    def links(self) -> Links:
        return Links(str(self.request.base_url).rstrip("/"))

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean query parameter."""
        return queries.boolean(name, self.query[name]) if name in self.query else default

    def seen_generation(self) -> int | None:
        """Return the generation in If-Match, the one that the caller has seen; None if the caller takes any."""
        text = self.request.headers.get("if-match", "*").strip()
        if text == "*":
            return None
        digits = text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            raise faults.bad_request('If-Match must be a generation in quotes, such as "14".', "ValueError")
        return int(digits)

    def check_policy(self, rule: str) -> None:
        """Refuse a caller who fails a rule beyond that of the route."""
        self.policy.check(rule, self.caller, {"project_id": self.project})

    async def check_again(self) -> None:
        """Refuse the caller of a long request once the token is invalid or the policy forbids the route."""
        caller = await self.admit()
        if caller.project != self.project and not caller.is_admin:
            raise faults.forbidden()

    async def body(self) -> dict[str, Any]:
        """Return the JSON object in the body. Refuse a request without one."""
        found = await self.optional_body()
        if found is None:
            raise faults.bad_request()
        return found

    async def optional_body(self) -> dict[str, Any] | None:
        return await bodies.read(self.request, self.service.settings.max_json_body_size)

    async def stack(self, *, deleted: bool = False) -> dict[str, Any]:
        """Return the stack of the path. Both its name and its id must match."""
        name, id_ = self.path["stack_name"], self.path["stack_id"]
        try:
            found = await self.find(id_, deleted=deleted)
        except errors.NotFound:
            found = {"id": None}
        if found["id"] != id_ or found["stack_name"] != name:
            raise errors.NotFound(f"The Stack ({name}) could not be found.")
        return found

    async def find(self, name_or_id: str, *, deleted: bool) -> dict[str, Any]:
        """Find a stack of the project by its name or id; for an admin, one of any project by its id."""
        found = await self.owned("stacks", name_or_id, lambda: self.orchestrator.stacks.find(name_or_id, deleted=deleted))
        # The name of a stack in this project may equal the id of a stack elsewhere: for an admin, the id wins.
        if found["id"] != name_or_id and await self._enter("stacks", name_or_id):
            found = await self.orchestrator.stacks.find(name_or_id, deleted=deleted)
        return found

    async def owned(self, kind: Kind, id_: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Call `ask` in the project. If the object is in another project and the caller is an admin, call it there."""
        try:
            return await ask()
        except errors.NotFound:
            if not await self._enter(kind, id_):
                raise
            return await ask()

    async def _enter(self, kind: Kind, id_: str) -> bool:
        """Switch an admin's call to the project that owns the object. Return whether the project changed."""
        owner = await self.orchestrator.stacks.owner(kind, id_) if self.caller.is_admin else None
        if owner is None or owner == self.project:
            return False
        # The request log shows the owner beside the caller.
        self.project = self.request.scope["state"]["owner"] = owner
        del self.orchestrator
        return True
