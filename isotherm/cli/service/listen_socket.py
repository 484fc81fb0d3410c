"""The address of the API and its listening socket."""

from __future__ import annotations

import ipaddress
import socket

from isotherm import errors
from isotherm.config import Settings

# Connections waiting to be accepted. The kernel has a limit of its own.
BACKLOG = 2048


def listening(settings: Settings, host: str | None, port: int | None) -> socket.socket:
    """Return a listening socket at this address, or at that of the options. From now on connections queue up."""
    host, port = host or settings.bind_host, settings.bind_port if port is None else port
    if settings.auth_strategy == "standalone":
        _refuse_beyond_loopback(host)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # IPPROTO_TCP lets asyncio set TCP_NODELAY; without it a response on a kept connection is delayed 40 ms.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        raise errors.UserError(f"{host}:{port}: {error.strerror or error}", kind="NotSupported",
                               hint="--port 0 picks a free port.") from error
    bound.listen(BACKLOG)
    return bound


def _refuse_beyond_loopback(host: str) -> None:
    try:
        inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise errors.UserError(f"{host}: in standalone mode the API listens on loopback only.", kind="NotSupported",
                               hint="Listen on 127.0.0.1, or set auth_strategy = keystone to serve other hosts.")


def url_of(bound: socket.socket) -> str:
    return _url(*bound.getsockname()[:2])


def address(settings: Settings) -> str:
    """Return the URL of the API in another process, according to the options."""
    return _url(settings.bind_host, settings.bind_port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
