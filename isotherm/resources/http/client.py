"""Sends HTTP requests for resources: http and https, to allowed addresses, within limits of time and size.

The address rules are those for fetching templates. Redirects are not followed, connections are not kept, and no URL or
header is in a message or log.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from typing import TYPE_CHECKING

from isotherm import errors
from isotherm.config import Settings
from isotherm.fetch import connect
from isotherm.fetch.addresses import AllowedAddresses, Resolve, UrlRefused, look_up
from isotherm.resources.context import local_access
from isotherm.resources.http import headers

if TYPE_CHECKING:
    import aiohttp

_TIMEOUT_S = 30.0
_HEADERS = {"User-Agent": "isotherm", "Accept-Encoding": "identity", "Connection": "close"}
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"([^\x00-\x20\x7f]([^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?")


class Client:
    """Implements `local_access.Http` under the operator's settings."""

    def __init__(self, settings: Settings, resolve: Resolve = look_up, tls: ssl.SSLContext | None = None) -> None:
        self._outside = AllowedAddresses(settings.allowed_fetch_networks, resolve)
        self._limit = settings.max_json_body_size
        self._tls = tls

    async def call(self, call: local_access.Call) -> local_access.Reply:
        # Checked before anything is sent: a line end in a value would start another header or request.
        if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in call.headers.items()):
            raise errors.Permanent("the request has headers that HTTP does not allow")
        if any(headers.is_own(name) for name in call.headers):
            raise errors.Permanent("the request has headers that the HTTP protocol itself uses")
        within_s, failures = _TIMEOUT_S if call.timeout_s is None else call.timeout_s, connect.failures()
        try:
            async with asyncio.timeout(within_s):
                return await self._send(call)
        except UrlRefused:
            raise errors.Permanent("the service is at an address that may not be called from here. The operator allows "
                                   "private networks with the option allowed_fetch_networks.") from None
        except failures.unreached:
            raise errors.NotBegun("the service does not answer") from None
        except failures.broken:
            raise errors.Temporary("the service does not answer") from None
        except TimeoutError:
            raise errors.Temporary(f"the service took longer than {within_s:g} seconds") from None
        except failures.nonsense:
            # As a rule: it went away in the middle of an answer.
            raise errors.Temporary("the service does not speak HTTP as it should") from None

    async def _send(self, call: local_access.Call) -> local_access.Reply:
        target = connect.target(call.url)
        address = await self._outside.address(target.host, target.port)
        request = connect.PinnedRequest(call.method, target, {**_HEADERS, **call.headers}, call.body, self._tls, call.check)
        async with connect.response(request, address) as response:
            return await self._read(response)

    async def _read(self, response: aiohttp.ClientResponse) -> local_access.Reply:
        said = {name.lower(): connect.header(value) for name, value in response.headers.items()}
        content = bytearray()
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > self._limit:
                raise errors.Permanent(f"the service's answer has more than {self._limit} bytes")
        return local_access.Reply(response.status, said, bytes(content))
