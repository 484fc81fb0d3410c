"""The containers and objects of an account of Swift, whose API is made of headers and not of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from isotherm import errors
from isotherm.resources.context.context import Cloud
from isotherm.resources.openstack import faults, rest

SERVICE = "object-store"
CREATED = 201
_PAGE = 1000
_TEXT = {"Content-Type": "text/plain"}

Headers = Mapping[str, str]


def container_path(container: str) -> str:
    return f"/{rest.part(container)}"


def object_path(container: str, name: str) -> str:
    """Return the path of an object. Its name may have slashes."""
    return f"{container_path(container)}/" + "/".join(map(_segment, name.split("/")))


def _segment(text: str) -> str:
    # A name such as `a//b` is one that Swift allows.
    return rest.part(text) if text else ""


@dataclass(frozen=True, slots=True)
class Account:
    """The account of the cloud's project."""

    cloud: Cloud

    @classmethod
    def of(cls, cloud: Cloud | None) -> Account:
        return cls(rest.require(cloud))

    @property
    def _service(self) -> rest.Service:
        return rest.Service(self.cloud, SERVICE)

    async def _send(self, method: str, path: str, headers: Headers | None = None) -> Headers:
        reply = await self._service.send(method, path, headers=headers)
        return reply.headers

    # The account itself.

    async def headers(self) -> Headers:
        """Return the headers of the account; an account that was never used has none."""
        try:
            return await self._send("HEAD", "/")
        except faults.NoSuchObject:
            return {}

    async def set_headers(self, headers: Headers) -> None:
        await self._send("POST", "/", headers)

    # Containers.

    async def container(self, name: str) -> Headers | None:
        """Return the headers of a container, or None if there is none."""
        try:
            return await self._send("HEAD", container_path(name))
        except faults.NoSuchObject:
            return None

    async def put_container(self, name: str, headers: Headers) -> bool:
        """Put a container; return whether it is a new one."""
        reply = await self._service.send("PUT", container_path(name), headers=headers)
        return reply.status == CREATED

    async def set_container_headers(self, name: str, headers: Headers) -> None:
        await self._send("POST", container_path(name), headers)

    async def delete_container(self, name: str) -> None:
        """Delete an empty container. Raises InUse if it is not empty."""
        await self._send("DELETE", container_path(name))

    # Objects.

    async def objects(self, container: str, prefix: str = "", *, limit: int = _PAGE) -> list[dict[str, Any]]:
        """Return the first objects of a container, by name; none if there is no such container."""
        query = {"format": "json", "limit": limit, **({"prefix": prefix} if prefix else {})}
        return await self._service.find(rest.path_with(container_path(container), query)) or []

    async def content(self, container: str, name: str) -> bytes | None:
        """Return the content of an object, or None if there is none."""
        try:
            return (await self._service.send("GET", object_path(container, name))).body
        except faults.NoSuchObject:
            return None

    async def has_object(self, container: str, name: str) -> bool:
        return await self.object_headers(container, name) is not None

    async def object_headers(self, container: str, name: str) -> Headers | None:
        """Return the headers of an object, or None if there is none."""
        try:
            return await self._send("HEAD", object_path(container, name))
        except faults.NoSuchObject:
            return None

    async def put_object(self, container: str, name: str, text: str, headers: Headers | None = None) -> None:
        # `rest` encodes bodies as JSON; it leaves a Raw as it is.
        await self._service.send("PUT", object_path(container, name), msgspec.Raw(text.encode()),
                                 headers={**_TEXT, **(headers or {})})

    async def delete_object(self, container: str, name: str) -> None:
        try:
            await self._send("DELETE", object_path(container, name))
        except faults.NoSuchObject:
            return

    async def delete_whole(self, container: str) -> None:
        """Delete a container with its objects."""
        while found := await self.objects(container):
            for one in found:
                await self.delete_object(container, one["name"])
        try:
            await self.delete_container(container)
        except faults.NoSuchObject:
            return
        except faults.InUse as error:
            # The numbers that Swift keeps of a container are a little late.
            raise errors.Temporary(f"the container {container} is not empty yet: {error}") from error

