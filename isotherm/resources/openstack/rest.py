"""JSON requests to the services of a cloud, on top of the port `contract.Cloud`.

A path is relative to the versioned endpoint of its service: `/networks/ID`. Answers of 400 and above are raised, see
`faults`. Objects are dicts, as the service sends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from isotherm import errors
from isotherm.resources.context.context import Cloud
from isotherm.resources.context.local_access import Call, Reply
from isotherm.resources.openstack import faults

TIMEOUT_S = 60.0
# The size of a page where a service lists in pages.
_PAGE = 1000
_READS = frozenset({"GET", "HEAD"})
_JSON = {"Accept": "application/json"}
_JSON_BODY = {**_JSON, "Content-Type": "application/json"}

Query = Mapping[str, Any] | Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Service:
    """One service of a cloud. `headers` go with each request: the microversion."""

    cloud: Cloud
    name: str
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = field(default_factory=lambda: TIMEOUT_S)

    async def get(self, path: str, query: Query = ()) -> Any:
        return decoded(self.name, await self.send("GET", path, query=query))

    async def post(self, path: str, body: object = None) -> Any:
        return decoded(self.name, await self.send("POST", path, body))

    async def put(self, path: str, body: object = None) -> Any:
        return decoded(self.name, await self.send("PUT", path, body))

    async def patch(self, path: str, body: object = None) -> Any:
        return decoded(self.name, await self.send("PATCH", path, body))

    async def delete(self, path: str) -> None:
        await self.send("DELETE", path)

    async def send(
        self, method: str, path: str, body: object = None, *, query: Query = (), headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request and return the answer. Raises the error that an answer of 400 and above means."""
        content = b"" if body is None else msgspec.json.encode(body)
        sent = {**(_JSON if body is None else _JSON_BODY), **self.headers, **(headers or {})}
        reply = await self.cloud.call(self.name, Call(method, path_with(path, query), sent, content, self.timeout_s))
        faults.check(self.name, reply, is_read=method in _READS)
        return reply

    async def find(self, path: str) -> Any:
        """Return the answer to a GET, or None if there is no such object."""
        try:
            return await self.get(path)
        except faults.NoSuchObject:
            return None

    async def pages(self, path: str, key: str, query: Query = ()) -> list[dict[str, Any]]:
        """Return all objects of a list, page by page where the service sends links to further pages."""
        return [one for page in await self.listing(path, key, query) for one in page]

    async def listing(self, path: str, key: str, query: Query = ()) -> list[list[dict[str, Any]]]:
        """Return the pages of a list; each was one request."""
        found: list[list[dict[str, Any]]] = []
        body = await self.get(path, query)
        while True:
            page = body.get(key) or []
            found.append(page)
            marker = _next_marker(body, key)
            if not page or marker is None:
                return found
            body = await self.get(path, [*_pairs(query), ("limit", _PAGE), ("marker", marker)])


def path_with(path: str, query: Query) -> str:
    """Return a path with a query. A list is repeated: `id=a&id=b`."""
    pairs = [(name, _text(one)) for name, value in _pairs(query)
             for one in (value if isinstance(value, list | tuple) else [value])]
    if not pairs:
        return path
    return f"{path}{'&' if '?' in path else '?'}{urlencode(pairs)}"


def part(value: object) -> str:
    """Return a value as one part of a path."""
    text = str(value)
    if text in ("", ".", ".."):
        raise errors.Permanent(f"{text!r} is not the id of an object")
    return quote(text, safe="")


def require(cloud: Cloud | None) -> Cloud:
    """Return the cloud. Raises Permanent where none is configured."""
    if cloud is None:
        raise errors.Permanent("No cloud is configured here. Name an entry of clouds.yaml with --os-cloud or OS_CLOUD, or "
                               "run the service with auth_strategy = keystone.")
    return cloud


def _pairs(query: Query) -> Iterable[tuple[str, Any]]:
    return query.items() if isinstance(query, Mapping) else query


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _next_marker(body: Mapping[str, Any], key: str) -> str | None:
    """Return the id after which the next page begins: the last of this one, if the service links to a next page."""
    links = body.get(f"{key}_links") or []
    if any(link.get("rel") == "next" for link in links):
        return str(body[key][-1]["id"])
    return None


def decoded(service: str, reply: Reply) -> Any:
    """Return the body of an answer; None if it has none. Raises Temporary if it is not JSON."""
    if not reply.body:
        return None
    try:
        return msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        raise errors.Temporary(f"the answer of the service {service} is not JSON") from None
