"""Metadata of servers as objects in Swift: the transport POLL_TEMP_URL of software configs.

The agent of a server reads an object at a signed URL. The object is written before the server is created, and again at each
change of the metadata or of a deployment. Each writer reads the deployments again after its write: of several writers at
the same time, the last one has seen the changes of all others.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from isotherm.resources.context import software, transports
from isotherm.resources.context.context import Context
from isotherm.resources.openstack import faults
from isotherm.resources.openstack.swift import temp_urls
from isotherm.resources.openstack.swift.account import Account

CONTAINER, OBJECT = "container", "object"
# The key of the data that has the configuration of the agent, and the header of an object that names its resource.
_AGENT, _OWNER = "agent", "x-object-meta-isotherm"
# How often the metadata or the deployments may change while the object is written.
_TRIES = 20


class _Server(Protocol):
    """The parts of a resource that are in the object."""

    @property
    def token(self) -> str: ...

    @property
    def data(self) -> dict[str, Any]: ...

    @property
    def metadata(self) -> Any: ...


class Polling(_Server, Protocol):
    """The parts of a resource whose agent reads an object."""

    name: str
    stack_name: str
    stack_id: str
    context: Context

    @property
    def physical_id(self) -> str | None: ...

    @property
    def physical_name(self) -> str: ...


async def prepare(resource: Polling, given: Mapping[str, Any] | None) -> None:
    """Make the place that the template names, or one of the resource's own, and remember it with its URL.

    An agent that reads another place learns of this one there: earlier places are kept until the resource is deleted.
    """
    account = Account.of(resource.context.cloud)
    own = {CONTAINER: resource.physical_name, OBJECT: f"{resource.name}-{resource.token}"}
    wanted = {name: (given or {}).get(name) or own[name] for name in own}
    url = await temp_urls.url(account, "GET", wanted[CONTAINER], wanted[OBJECT])
    retire(resource)
    # Noted first: what is made next is deleted with the resource, whatever happens.
    resource.data[transports.PLACES] = [
        *(one for one in _places(resource.data) if wanted.items() - one.items()), {**wanted, transports.URL: url}]
    await account.put_container(wanted[CONTAINER], {})


def retire(resource: Polling) -> None:
    """Remember that the agent reads no object any more, once it has learned so from the last one."""
    resource.data.pop(_AGENT, None)
    if _places(resource.data):
        resource.data[transports.PLACES] = [{**one, transports.URL: ""} for one in _places(resource.data)]


async def write(resource: Polling, agent: Mapping[str, Any]) -> None:
    """Write the metadata of the resource, with the configuration of its agent."""
    if not _places(resource.data):
        return
    if transports.object_url(resource.data):
        resource.data[_AGENT] = dict(agent)

    async def present() -> _Server:
        return resource

    await _write(resource.context, present, agent, resource.stack_id, resource.physical_id)


async def publish(context: Context, stack_id: str, server_id: str) -> None:
    """Write the metadata of a server whose deployments have changed, if its agent reads an object."""

    async def present() -> _Server | None:
        server = None if context.software is None else await context.software.server(stack_id, server_id)
        return server if server is not None and transports.object_url(server.data) else None

    if context.cloud is not None:
        await _write(context, present, None, stack_id, server_id)


async def _write(
    context: Context, present: Callable[[], Awaitable[_Server | None]], agent: Mapping[str, Any] | None, stack_id: str,
    server_id: str | None,
) -> None:
    """Write the object until what it is made of has stayed the same during the write."""
    written = ""
    for _ in range(_TRIES):
        server = await present()
        if server is None:
            return
        told = agent if agent is not None else server.data.get(_AGENT) or {}
        configs = await _deployed(context, stack_id, server_id)
        text = json.dumps({**(server.metadata or {}), transports.KEY: told, "deployments": configs})
        if text == written:
            return
        await _put(context, server, text)
        written = text


async def delete(resource: Polling) -> None:
    """Delete the objects of a resource; a container goes with its last object."""
    for place in _places(resource.data):
        account = Account.of(resource.context.cloud)
        found = await account.object_headers(place[CONTAINER], place[OBJECT])
        if found is not None and found.get(_OWNER) != resource.token:
            # A resource that replaces this one may have the same place.
            continue
        await account.delete_object(place[CONTAINER], place[OBJECT])
        with suppress(faults.NoSuchObject, faults.InUse):
            await account.delete_container(place[CONTAINER])


def _places(data: Mapping[str, Any]) -> list[dict[str, str]]:
    return list(data.get(transports.PLACES) or ())


async def _deployed(context: Context, stack_id: str, server_id: str | None) -> list[dict[str, Any]]:
    if context.software is None or server_id is None:
        return []
    return [software.shown(one) for one in await context.software.deployed(stack_id, server_id)]


async def _put(context: Context, server: _Server, text: str) -> None:
    account = Account.of(context.cloud)
    for place in _places(server.data):
        # The container goes with its server: then nothing reads the object any more.
        with suppress(faults.NoSuchObject):
            await account.put_object(place[CONTAINER], place[OBJECT], text, {_OWNER: server.token})
