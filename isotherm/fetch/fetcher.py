"""Fetches a text by URL: http and https, from addresses outside, within a time and a size.

Redirects are followed here and not by the library, so that each hop is judged like the first one. Nothing is kept
between two fetches, so that nobody can find in here what another has fetched. A URL is in no message and in no log: it
may hold what only its owner should know.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

import httpcore2
import httpx2

from isotherm import errors
from isotherm.config import Settings
from isotherm.fetch.addresses import Outside, Refused, Resolve, look_up

_HOPS = 3
_LONGEST_URL = 8192
_MOVED = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}

# It would write down where it is redirected to.
logging.getLogger("httpcore2").setLevel(logging.WARNING)


class Fetcher:
    """What fetches, under these settings."""

    def __init__(self, settings: Settings, resolve: Resolve = look_up, tls: ssl.SSLContext | None = None) -> None:
        self._outside = Outside(settings.allowed_fetch_networks, resolve)
        self._limit = settings.max_template_size
        self._timeout_s = settings.template_fetch_timeout
        self._tls = tls

    async def text(self, url: str) -> str:
        """The text behind a URL. Raises UserError: what it says is all that the user may know."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return _decoded(await self._follow(url))
        except TimeoutError:
            raise _failed(f"it took longer than {self._timeout_s:g} seconds") from None
        except (httpcore2.TimeoutException, httpcore2.NetworkError):
            raise _failed("the server does not answer") from None
        except (httpcore2.ProtocolError, httpcore2.UnsupportedProtocol):
            raise _failed("the server does not speak HTTP as it should") from None

    async def _follow(self, url: str) -> bytes:
        for _ in range(_HOPS + 1):
            answer = await self._get(_target(url))
            if isinstance(answer, bytes):
                return answer
            url = urljoin(url, answer.location)
        raise _failed("there are too many redirects")

    async def _get(self, target: httpx2.URL) -> bytes | _Moved:
        port = _PORTS[target.scheme] if target.port is None else target.port
        address = await self._outside.address(target.raw_host.decode("ascii"), port)
        # A connection of its own, to the address that was checked: there is nothing that could be used again.
        async with httpcore2.AsyncConnectionPool(
            ssl_context=self._tls, http2=False, max_keepalive_connections=0, network_backend=_Pinned(address)
        ) as pool:
            request = {"timeout": {"connect": 10.0, "read": None, "write": 10.0, "pool": None}}
            async with pool.stream("GET", _raw(target), headers=_headers(target), extensions=request) as response:
                return await self._read(response)

    async def _read(self, response: httpcore2.Response) -> bytes | _Moved:
        headers = {name.lower(): value for name, value in response.headers}
        if response.status in _MOVED and b"location" in headers:
            return _Moved(headers[b"location"].decode("latin-1"))
        if response.status != 200:
            raise _failed(f"the server answered {response.status}")
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            # We asked for none: what is packed may be of any size when it is not.
            raise _failed("the server sent it compressed")
        content = bytearray()
        async for chunk in response.aiter_stream():
            content += chunk
            if len(content) > self._limit:
                raise _failed(f"it exceeds maximum allowed size ({self._limit} bytes)", kind="DownloadLimitExceeded")
        return bytes(content)


@dataclass(frozen=True, slots=True)
class _Moved:
    location: str


class _Pinned(httpcore2.AsyncNetworkBackend):
    """Connects to one address, whatever name it is asked for; the name still goes into TLS and into the Host header."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return await self._network.connect_tcp(self._address, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def _target(url: str) -> httpx2.URL:
    """The URL, taken apart once: what is judged is what is used."""
    if len(url) > _LONGEST_URL:
        raise Refused
    try:
        target = httpx2.URL(url)
        allowed = target.scheme in _PORTS and target.host and not target.userinfo and 0 < (target.port or 80) < 65536
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise Refused from None
    if not allowed:
        raise Refused
    return target


def _raw(target: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(scheme=target.raw_scheme, host=target.raw_host, port=target.port, target=target.raw_path)


def _headers(target: httpx2.URL) -> list[tuple[bytes, bytes]]:
    return [(b"Host", target.netloc), (b"Accept", b"*/*"), (b"Accept-Encoding", b"identity"), (b"Connection", b"close"),
            (b"User-Agent", b"isotherm")]


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _failed("it is not UTF-8 text") from None


def _failed(why: str, kind: str = "HTTPBadRequest") -> errors.UserError:
    return errors.UserError(f"Could not retrieve template: {why}.", kind=kind)
