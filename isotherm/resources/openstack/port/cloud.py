"""Calls of the services of an OpenStack cloud, with one access: the adapter of `contract.Cloud`."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import Protocol

from isotherm import errors
from isotherm.config import Settings
from isotherm.resources.context import local_access
from isotherm.resources.context.context import Clock, Credential
from isotherm.resources.openstack.port.access import CloudAccess
from isotherm.resources.openstack.port.tokens import Token, Tokens
from isotherm.resources.openstack.port.transport import CallLimits, Transport

AUTH, REQUEST_ID = "X-Auth-Token", local_access.REQUEST_ID
_UNAUTHORIZED = 401


class CloudPort:
    """The connections and tokens of a process, for all clouds that it calls."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._transport = Transport(CallLimits.of(settings))
        self._tokens = Tokens(self._transport, clock.now)

    async def token(self, access: CloudAccess) -> Token:
        """Return a valid token of an access, with the ids of its user and project."""
        return await self._tokens.token(access)

    async def call(self, access: CloudAccess, service: str, call: local_access.Call) -> local_access.Reply:
        """Send a request to a service. If its token is refused, a new one is asked for once."""
        if not call.url.startswith("/"):
            raise errors.Bug(f"the URL of a call is relative to the endpoint and begins with /: {call.url}")
        token = await self._tokens.token(access)
        reply = await self._sent(access, token, service, call)
        if reply.status != _UNAUTHORIZED:
            return reply
        self._tokens.drop(access, token)
        return await self._sent(access, await self._tokens.token(access), service, call)

    async def endpoint(self, access: CloudAccess, service: str) -> str:
        """Return the URL of the endpoint of a service."""
        return (await self._tokens.token(access)).catalogue.endpoint(service, access)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        await self._transport.close()

    async def _sent(self, access: CloudAccess, token: Token, service: str, call: local_access.Call) -> local_access.Reply:
        given = {name.lower() for name in call.headers}
        headers = {**call.headers, AUTH: token.id}
        if REQUEST_ID.lower() not in given:
            headers[REQUEST_ID] = f"req-{uuid.uuid4()}"
        if service != "object-store" and "accept" not in given:
            headers["Accept"] = "application/json"
        if call.body and "content-type" not in given:
            headers["Content-Type"] = "application/json"
        url = token.catalogue.endpoint(service, access) + call.url
        return await self._transport.send(service, replace(call, url=url, headers=headers), access.tls)


class StackAccess(Protocol):
    """Finds the access with which a stack is worked on."""

    def key(self, stack_id: str) -> str:
        """Return the key of the stack's credential. Nothing is asked."""
        ...

    async def access(self, stack_id: str) -> CloudAccess: ...


@dataclass(frozen=True, slots=True)
class OpenStackCloud:
    """A cloud that is called with one access, for all stacks."""

    port: CloudPort
    access: CloudAccess

    @property
    def credential(self) -> Credential:
        project = self.access.login.project
        return Credential(self.access.key, project.id or project.name)

    def of_stack(self, stack_id: str) -> OpenStackCloud:
        return self

    async def call(self, service: str, call: local_access.Call) -> local_access.Reply:
        return await self.port.call(self.access, service, call)

    async def endpoint(self, service: str) -> str:
        return await self.port.endpoint(self.access, service)

    async def project_id(self) -> str:
        return (await self.port.token(self.access)).project_id


@dataclass(frozen=True, slots=True)
class StackCloud:
    """A cloud that is called with the access of a stack, which is asked for at each call: an update may change it."""

    port: CloudPort
    stack_access: StackAccess
    stack_id: str

    @property
    def credential(self) -> Credential:
        return Credential(self.stack_access.key(self.stack_id), "")

    def of_stack(self, stack_id: str) -> StackCloud:
        return replace(self, stack_id=stack_id)

    async def call(self, service: str, call: local_access.Call) -> local_access.Reply:
        return await self.port.call(await self._access(), service, call)

    async def endpoint(self, service: str) -> str:
        return await self.port.endpoint(await self._access(), service)

    async def project_id(self) -> str:
        return (await self.port.token(await self._access())).project_id

    async def _access(self) -> CloudAccess:
        if not self.stack_id:
            raise errors.Bug("a cloud is called for no stack")
        return await self.stack_access.access(self.stack_id)
