"""Connects to an address that was checked, whatever the name resolves to later.

Each request has a connection of its own, so that nothing is reused for another one. Redirects are not followed, and bodies
are not unpacked. aiohttp is loaded at the first request: commands that fetch nothing start faster.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from isotherm import loading
from isotherm.fetch import before_send
from isotherm.fetch.addresses import UrlRefused

if TYPE_CHECKING:
    import aiohttp

PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 8192
_CONNECT_S = 10.0
# What a URL may have beside letters and digits. All else is quoted; escapes stay as they are.
_SAFE = "%/:?#[]@!$&'()*+,;=~-._"
# aiohttp adds these by itself: the service is sent what the caller says, and nothing else.
_NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """The URL of a request, taken apart."""

    scheme: str
    # The name or address, in ASCII and without brackets.
    host: str
    port: int
    # The value of the header Host.
    netloc: str
    path: str

    def at(self, address: str) -> str:
        """Return the URL with a checked address in place of the name."""
        return f"{self.scheme}://{f'[{address}]' if ':' in address else address}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class PinnedRequest:
    """One request to a target."""

    method: str
    target: FetchTarget
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    tls: ssl.SSLContext | None = None
    # Called when the connection is open, right before anything is sent.
    before: Callable[[], None] | None = None


def target(url: str) -> FetchTarget:
    """Parse the URL and refuse it unless it is http or https, without credentials. The result is used for the request."""
    if len(url) > _LONGEST_URL or any(one < " " or one == "\x7f" for one in url):
        raise UrlRefused
    try:
        found = loading.load("yarl").URL(url)
        host, port = found.raw_host, found.port
    except (UnicodeError, ValueError, TypeError):
        raise UrlRefused from None
    if found.scheme not in PORTS or not host or not port or found.raw_user is not None or found.raw_password is not None:
        raise UrlRefused
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if found.explicit_port is None else f"{shown}:{port}"
    return FetchTarget(found.scheme, host, port, netloc, _path(url))


def _path(url: str) -> str:
    """Return the path and query of a URL, with the escapes that it has."""
    rest = url.partition("#")[0].partition("://")[2]
    begin = next((index for index, one in enumerate(rest) if one in "/?"), len(rest))
    path = quote(rest[begin:], safe=_SAFE)
    return path if path.startswith("/") else f"/{path}"


@contextlib.asynccontextmanager
async def response(request: PinnedRequest, address: str) -> AsyncIterator[aiohttp.ClientResponse]:
    """Send a request to a checked address and yield the response. TLS and the header Host still use the name."""
    http, url = loading.load("aiohttp"), loading.load("yarl").URL
    before_send.call_before_send(request.before)
    connector = http.TCPConnector(force_close=True, use_dns_cache=False)
    timeout = http.ClientTimeout(total=None, sock_connect=_CONNECT_S)
    session = http.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=http.DummyCookieJar(), request_class=before_send.request_class(),
        skip_auto_headers=_NOT_ADDED, auto_decompress=False)
    async with session, session.request(
        request.method, url(request.target.at(address), encoded=True),
        headers={**request.headers, "Host": request.target.netloc},
        data=request.body or None, allow_redirects=False, ssl=request.tls or True,
        server_hostname=request.target.host if request.target.scheme == "https" else None,
    ) as answer:
        yield answer


@dataclass(frozen=True, slots=True)
class HttpFailures:
    """The errors of aiohttp by their meaning, for `except`."""

    # Nothing was sent.
    unreached: tuple[type[Exception], ...]
    # The connection broke.
    broken: tuple[type[Exception], ...]
    # The answer is not HTTP, or not whole.
    nonsense: tuple[type[Exception], ...]


@cache
def failures() -> HttpFailures:
    http = loading.load("aiohttp")
    return HttpFailures((http.ClientConnectorError, http.ConnectionTimeoutError),
                        (http.ClientOSError, http.ServerTimeoutError), (http.ClientError, ValueError))


def header(value: str) -> str:
    """Return the value of a header as it was sent: bytes that are not UTF-8 are single characters."""
    return value.encode("utf-8", "surrogateescape").decode("latin-1")
