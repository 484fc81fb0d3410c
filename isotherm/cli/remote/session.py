"""Requests to a service, its streams, and the errors in its answers as errors of Isotherm."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from isotherm import errors
from isotherm.cli.remote.access import TOKEN, RemoteAccess
from isotherm.resources.openstack.port import transport

# A plan or an observation may take this long; a stream is as long as the operation.
_WHOLE_S, _CONNECT_S = 600.0, 10.0
# A stream sends a heartbeat more often than this.
_SILENCE_S = 60.0
# Most bytes of a line of a stream.
_LINE = 64 * 1024 * 1024
_OPERATION = "isotherm-operation"
_JSON = "application/json"
Query = Mapping[str, str | int | Iterable[str]]


class NotServed(errors.UserError):
    """The service has no such route: it is a Heat, or an older Isotherm."""

    default_kind = "NotSupported"


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """An answer of the service. `location` is where a redirect leads to."""

    status: int
    data: Any = None
    location: str = ""
    # The operation that the request began, if the service is an Isotherm.
    operation_id: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request that are not its address."""

    query: Query = field(default_factory=dict)
    body: Any = None
    generation: int | None = None


class Session:
    """The connections of one command to one service."""

    def __init__(self, access: RemoteAccess) -> None:
        self._access = access
        self._client: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
        await self._access.close()

    @property
    def _http(self) -> aiohttp.ClientSession:
        if self._client is None:
            self._client = aiohttp.ClientSession(trust_env=True, read_bufsize=1 << 20)
        return self._client

    async def project(self) -> str:
        """Return the project, the last part of the address."""
        return (await self._access.address()).url.rsplit("/", 1)[1]

    async def get(self, path: str, **query: Any) -> Any:
        """Return the data of a GET."""
        return (await self.ask("GET", path, Asked(query))).data

    async def ask(self, method: str, path: str, asked: Asked = Asked()) -> ServiceAnswer:  # noqa: B008 - frozen
        """Send a request below the project. Raises the error that the answer describes."""
        headers = {} if asked.generation is None else {"If-Match": f'"{asked.generation}"'}
        content = None if asked.body is None else msgspec.json.encode(asked.body)
        async with self._sent(method, path, asked.query, content, headers, _WHOLE_S) as response:
            raw = await response.read()
            if response.status >= 400:
                raise _error(response.status, raw, str(response.url.origin()))
            return ServiceAnswer(response.status, _decoded(raw), response.headers.get("location", ""),
                          response.headers.get(_OPERATION, ""))

    async def stream(self, path: str, **query: Any) -> AsyncGenerator[tuple[str, Any], None]:
        """Yield the kind and the data of each message of a stream until the service ends it."""
        async with self._sent("GET", path, query, None, {"Accept": "text/event-stream"}, None) as response:
            if response.status >= 400:
                raise _error(response.status, await response.read(), str(response.url.origin()))
            kind = ""
            async for line in _lines(response):
                name, _, value = line.partition(b": ")
                if name == b"event":
                    kind = value.decode()
                elif name == b"data":
                    yield kind, msgspec.json.decode(value)

    @asynccontextmanager
    async def _sent(
        self, method: str, path: str, query: Query, content: bytes | None, headers: Mapping[str, str], whole_s: float | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        address = await self._access.address()
        url = URL(address.url + path + (f"?{_encoded(query)}" if query else ""), encoded=True)
        given = {"Accept": _JSON, **({"Content-Type": _JSON} if content is not None else {}),
                 **({"X-Auth-Token": address.token} if address.token else {}), **headers}
        silence_s = _SILENCE_S if whole_s is None else None
        timeout = aiohttp.ClientTimeout(total=whole_s, connect=_CONNECT_S, sock_read=silence_s)
        try:
            async with self._http.request(method, url, data=content, headers=given, allow_redirects=False, timeout=timeout,
                                          ssl=transport.ssl_context(self._access.tls)) as response:
                yield response
        except TimeoutError as error:
            raise _unreached(f"The service at {url.origin()} did not answer in time.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _unreached(f"The service at {url.origin()} cannot be reached: {error}") from error


def path_of(*parts: str) -> str:
    """Return a path of quoted parts."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _encoded(query: Query) -> str:
    return urlencode({name: value if isinstance(value, str | int) else list(value) for name, value in query.items()},
                     doseq=True)


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the lines of a stream. The lines of a frame are longer than the client's own reader of lines allows."""
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LINE:
            raise _unreached("The service sends a line that is too long.")
        for line in lines:
            yield line


def _decoded(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw) if raw else None
    except msgspec.DecodeError:
        return None  # a status page, which has no data


def _error(status: int, raw: bytes, service: str) -> errors.UserError:
    """Return the error that an answer describes, with all its problems."""
    body = _decoded(raw)
    body = body if isinstance(body, dict) else {}
    inner = body.get("error")
    inner = inner if isinstance(inner, dict) else {}
    text = str(inner.get("message") or body.get("message") or body.get("explanation") or f"The service answered {status}.")
    if status == 401:
        return errors.UserError(f"{service} accepts no token: {text}", kind="Unauthorized",
                                hint=f"Log in with an entry of clouds.yaml, or set {TOKEN}.")
    if status in (404, 405) and "type" not in inner:
        return NotServed(f"{service} does not know this request.",
                         hint="It may be a Heat: what its API does not have works with Isotherm only.")
    problems = tuple(_problem(one) for one in body.get("problems", ())) or (
        errors.Problem(text, kind=str(inner.get("type") or "HTTPError")),)
    return {404: errors.NotFound, 409: errors.Conflict}.get(status, errors.UserError)(problems=problems)


def _problem(data: Mapping[str, Any]) -> errors.Problem:
    mark = data.get("mark")
    return errors.Problem(
        str(data["message"]), str(data.get("path", "")),
        None if mark is None else errors.Mark(mark["line"], mark["column"], mark["source"]), str(data.get("hint", "")),
        str(data.get("kind", "")), str(data.get("label", "")))


def _unreached(text: str) -> errors.UserError:
    return errors.UserError(text, kind="ServiceUnavailable",
                            hint="Check that the service runs, and the address in --remote.")
