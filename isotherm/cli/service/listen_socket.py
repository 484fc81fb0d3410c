"""Where the API listens: the address, and the socket that is bound to it."""

from __future__ import annotations

import ipaddress
import socket

from isotherm import errors
from isotherm.config import Settings

# How many connections may wait to be taken. The kernel has a limit of its own besides.
BACKLOG = 2048


def listening(settings: Settings, host: str | None, port: int | None) -> socket.socket:
    """A socket at this address, otherwise where the options say. From here on nobody is turned away: who comes waits."""
    host, port = host or settings.bind_host, settings.bind_port if port is None else port
    if settings.auth_strategy == "standalone":
        _refuse_beyond_loopback(host)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Named, so that asyncio knows that it is TCP, and sends at once: else a reply on a kept connection waits 40 ms.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        raise errors.UserError(f"{host}:{port}: {error.strerror or error}", kind="NotSupported",
                               hint="--port 0 takes a port that is free.") from error
    bound.listen(BACKLOG)
    return bound


def _refuse_beyond_loopback(host: str) -> None:
    try:
        inside = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise errors.UserError(f"{host}: in standalone mode the API listens on loopback only.", kind="NotSupported",
                               hint="Set auth_strategy = keystone to be there for others, or listen on 127.0.0.1.")


def url_of(bound: socket.socket) -> str:
    return _url(*bound.getsockname()[:2])


def address(settings: Settings) -> str:
    """Where the API of another process is, as far as the options tell."""
    return _url(settings.bind_host, settings.bind_port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
