"""What a handler gets: the request, who asks, and the Orchestrator of the project that the path names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request

from isotherm import errors
from isotherm.api import bodies, faults, queries
from isotherm.api.caller import Caller
from isotherm.api.lending import Bind
from isotherm.api.links import Links
from isotherm.api.policy import Policy
from isotherm.api.service import Service
from isotherm.engine.orchestrator import Orchestrator


@dataclass
class Call:
    """One request, on its way through a handler."""

    request: Request
    caller: Caller
    service: Service
    policy: Policy

    @property
    def path(self) -> Mapping[str, str]:
        return self.request.path_params

    @property
    def query(self) -> QueryParams:
        return self.request.query_params

    @property
    def project(self) -> str:
        """The project of the path: the caller's own, or any for an admin."""
        return self.path["project"]

    @cached_property
    def orchestrator(self) -> Orchestrator:
        found = self.service.orchestrator(self.caller, self.project)
        found.may_use = lambda type_: self.policy.allows_type(type_, self.caller)
        return found

    def borrowed(self, stack_id: str | None = None) -> AbstractAsyncContextManager[Bind]:
        """What the caller lends for a stack: borrowed on the way in, and bound to the stack that is named inside."""
        return self.service.lending.borrowed(self.caller, self.project, stack_id)

    @cached_property
    def links(self) -> Links:
        return Links(str(self.request.base_url).rstrip("/"))

    def flag(self, name: str, default: bool = False) -> bool:
        """A query parameter that is true or false."""
        return queries.boolean(name, self.query[name]) if name in self.query else default

    def allow(self, rule: str) -> None:
        """Refuse whoever may not do this, where the route alone does not tell."""
        self.policy.check(rule, self.caller, {"project_id": self.project})

    async def body(self) -> dict[str, Any]:
        """The object in the body; without one the request makes no sense."""
        found = await self.optional_body()
        if found is None:
            raise faults.bad()
        return found

    async def optional_body(self) -> dict[str, Any] | None:
        return await bodies.read(self.request, self.service.settings.max_json_body_size)

    async def stack(self, *, deleted: bool = False) -> dict[str, Any]:
        """The stack of the path. Its name and its id must both be right."""
        name, id_ = self.path["stack_name"], self.path["stack_id"]
        try:
            found = await self.orchestrator.find(id_, deleted=deleted)
        except errors.NotFound:
            found = {"id": None}
        if found["id"] != id_ or found["stack_name"] != name:
            raise errors.NotFound(f"The Stack ({name}) could not be found.")
        return found
