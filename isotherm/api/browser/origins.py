"""Checks of where a browser's request comes from: the host it was sent to, and the page that sent it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.requests import Request

from isotherm.config import Settings

# The header that the page sends with each request. A page of another site would have to ask for it, by CORS, and gets no.
PAGE_HEADER = "x-isotherm-page"
_SAME = frozenset({"same-origin", "none"})


def is_served(request: Request, settings: Settings) -> bool:
    """Return whether the page is served under the request's host.

    A name of another site may be made to lead to this machine (DNS rebinding): in standalone mode only loopback counts.
    """
    host = _name(request.headers.get("host", ""))
    if host in settings.page_hosts:
        return True
    return _is_loopback(host) if settings.auth_strategy == "standalone" else not settings.page_hosts


def is_from_page(request: Request) -> bool:
    """Return whether the request comes from a page of this service."""
    if request.headers.get(PAGE_HEADER) != "1" or request.headers.get("sec-fetch-site", "none") not in _SAME:
        return False
    origin = request.headers.get("origin")
    # Only the host is compared: a proxy in front may have ended TLS.
    return origin is None or _place(origin) == request.headers.get("host", "").lower()


def _place(origin: str) -> str:
    """Return host and port of an origin; "" for one that is no web page."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _name(host: str) -> str:
    """Return the name in a Host header, without the port."""
    return host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0].lower()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
