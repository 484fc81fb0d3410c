"""Sends HTTP requests for resources: http and https, to allowed addresses, within limits of time and size.

The address rules are those for fetching templates. Redirects are not followed, connections are not kept, and no URL or
header is in a message or log.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpcore2

from isotherm import errors
from isotherm.config import Settings
from isotherm.fetch import connect
from isotherm.fetch.addresses import AllowedAddresses, Resolve, UrlRefused, look_up
from isotherm.resources.context import local_access
from isotherm.resources.http import headers

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"([^\x00-\x20\x7f]([^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?")


class Client:
    """Implements `local_access.Http` under the operator's settings."""

    def __init__(self, settings: Settings, resolve: Resolve = look_up, tls: ssl.SSLContext | None = None) -> None:
        self._outside = AllowedAddresses(settings.allowed_fetch_networks, resolve)
        self._limit = settings.max_json_body_size
        self._tls = tls

    async def call(self, call: local_access.Call) -> local_access.Reply:
        # Judged before anything is sent: whatever ends a line would begin a header, or a request, of its own.
        if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in call.headers.items()):
            raise errors.Permanent("the request has headers that HTTP does not allow")
        if any(headers.is_own(name) for name in call.headers):
            raise errors.Permanent("the request has headers by which HTTP itself is spoken")
        try:
            async with asyncio.timeout(call.timeout_s):
                return await self._send(call)
        except UrlRefused:
            raise errors.Permanent("the service is at an address that may not be called from here. The operator allows "
                                   "networks of his own with the option allowed_fetch_networks.") from None
        except TimeoutError:
            raise errors.Temporary(f"the service took longer than {call.timeout_s:g} seconds") from None
        except (httpcore2.ConnectTimeout, httpcore2.ConnectError):
            raise errors.NotBegun("the service does not answer") from None
        except (httpcore2.TimeoutException, httpcore2.NetworkError):
            raise errors.Temporary("the service does not answer") from None
        except httpcore2.ProtocolError:
            # As a rule: it went away in the middle of an answer.
            raise errors.Temporary("the service does not speak HTTP as it should") from None

    async def _send(self, call: local_access.Call) -> local_access.Reply:
        target = connect.target(call.url)
        address = await self._outside.address(target.raw_host.decode("ascii"), connect.port(target))
        sent = [(b"Host", target.netloc), (b"User-Agent", b"isotherm"), (b"Accept-Encoding", b"identity"),
                   (b"Connection", b"close"), (b"Content-Length", str(len(call.body)).encode())]
        sent += [(name.encode(), value.encode()) for name, value in call.headers.items()]
        async with httpcore2.AsyncConnectionPool(
            ssl_context=self._tls, http2=False, max_keepalive_connections=0, network_backend=connect.PinnedBackend(address)
        ) as pool:
            request = {"timeout": {"connect": 10.0, "read": None, "write": None, "pool": None},
                       "trace": _before_it_is_sent(call)}
            async with pool.stream(call.method, connect.raw(target), headers=sent, content=call.body,
                                   extensions=request) as response:
                return await self._read(response)

    async def _read(self, response: httpcore2.Response) -> local_access.Reply:
        said = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        content = bytearray()
        async for chunk in response.aiter_stream():
            content += chunk
            if len(content) > self._limit:
                raise errors.Permanent(f"the service's answer has more than {self._limit} bytes")
        return local_access.Reply(response.status, said, bytes(content))


def _before_it_is_sent(call: local_access.Call) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    async def trace(event: str, _facts: Mapping[str, Any]) -> None:
        if event == "http11.send_request_headers.started":
            call.check()

    return trace
