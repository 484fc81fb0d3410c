"""Connects to an address that was checked, whatever the name resolves to later."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2

from isotherm.fetch.addresses import UrlRefused

PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 8192

# At INFO, httpcore would log URLs.
logging.getLogger("httpcore2").setLevel(logging.WARNING)


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Network backend that connects to one address for any name. TLS and the Host header still use the name."""

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


def target(url: str) -> httpx2.URL:
    """Parse the URL and refuse it unless it is http or https, without credentials. The result is used for the request."""
    if len(url) > _LONGEST_URL:
        raise UrlRefused
    try:
        found = httpx2.URL(url)
        allowed = found.scheme in PORTS and found.host and not found.userinfo and 0 < (found.port or 80) < 65536
    except (httpx2.InvalidURL, UnicodeError, ValueError):
        raise UrlRefused from None
    if not allowed:
        raise UrlRefused
    return found


def port(found: httpx2.URL) -> int:
    return PORTS[found.scheme] if found.port is None else found.port


def raw(found: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(scheme=found.raw_scheme, host=found.raw_host, port=found.port, target=found.raw_path)
