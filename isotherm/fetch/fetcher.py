"""Fetches a text by http or https from allowed addresses, within limits of time and size.

Redirects are followed here, not by the HTTP library, so that each hop is checked like the first. Nothing is cached between
fetches, so that users cannot see what others fetched. URLs are never logged or quoted: they may contain secrets.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from isotherm import errors
from isotherm.config import Settings
from isotherm.fetch import connect
from isotherm.fetch.addresses import AllowedAddresses, Resolve, look_up

if TYPE_CHECKING:
    import aiohttp

_HOPS = 3
_MOVED = (301, 302, 303, 307, 308)
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close", "User-Agent": "isotherm"}


class Fetcher:
    """Fetches texts under the limits of the settings."""

    def __init__(self, settings: Settings, resolve: Resolve = look_up, tls: ssl.SSLContext | None = None) -> None:
        self._outside = AllowedAddresses(settings.allowed_fetch_networks, resolve)
        self._limit = settings.max_template_size
        self._timeout_s = settings.template_fetch_timeout
        self._tls = tls

    async def text(self, url: str) -> str:
        """Return the text at a URL. Raise UserError with a message that reveals nothing about the network."""
        failures = connect.failures()
        try:
            async with asyncio.timeout(self._timeout_s):
                return _decoded(await self._follow(url))
        except (*failures.unreached, *failures.broken):
            raise _failed("the server does not answer") from None
        except TimeoutError:
            raise _failed(f"it took longer than {self._timeout_s:g} seconds") from None
        except failures.nonsense:
            raise _failed("the server does not speak HTTP as it should") from None

    async def _follow(self, url: str) -> bytes:
        for _ in range(_HOPS + 1):
            answer = await self._get(connect.target(url))
            if isinstance(answer, bytes):
                return answer
            url = urljoin(url, answer.location)
        raise _failed("there are too many redirects")

    async def _get(self, target: connect.FetchTarget) -> bytes | _Moved:
        address = await self._outside.address(target.host, target.port)
        async with connect.response(connect.PinnedRequest("GET", target, _HEADERS, tls=self._tls), address) as response:
            return await self._read(response)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes | _Moved:
        if response.status in _MOVED and "location" in response.headers:
            return _Moved(connect.header(response.headers["location"]))
        if response.status != 200:
            raise _failed(f"the server answered {response.status}")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # Not requested, and a compressed body could exceed the size limit when unpacked.
            raise _failed("the server sent it compressed")
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > self._limit:
                raise _failed(f"it exceeds maximum allowed size ({self._limit} bytes)", kind="DownloadLimitExceeded")
        return bytes(content)


@dataclass(frozen=True, slots=True)
class _Moved:
    location: str


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _failed("it is not UTF-8 text") from None


def _failed(why: str, kind: str = "HTTPBadRequest") -> errors.UserError:
    return errors.UserError(f"Could not retrieve template: {why}.", kind=kind)
