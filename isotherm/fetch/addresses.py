"""Decides which addresses may be connected to for a user: public ones, and networks that the operator allows.

Otherwise a user could reach, through the service, addresses of its private network. A name is resolved once and the
checked address is the one that is connected to, so that DNS rebinding has no effect. An unknown name is refused with the
same message as a private address, so that users cannot probe for internal names.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from isotherm import errors

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# (host, port) -> the addresses of a name, as text.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# Networks that `is_global` does not exclude in all Python versions: shared, benchmark and reserved ones, metadata hosts of
# clouds, and IPv6 forms that embed an IPv4 address.
_INSIDE = tuple(ipaddress.ip_network(text) for text in (
    "0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4",
    "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2002::/16", "fc00::/7", "fe80::/10",
    "fec0::/10", "ff00::/8", "::/96",
))


class UrlRefused(errors.UserError):
    """The URL may not be fetched. The message is the same for all reasons, so that it reveals nothing."""

    default_kind = "HTTPBadRequest"

    def __init__(self) -> None:
        super().__init__("The URL cannot be fetched by this service.",
                         hint="Use http or https, a public address, and no user name or password in the URL.")


async def look_up(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class AllowedAddresses:
    """Checks addresses. `allowed` are private networks that may be connected to."""

    def __init__(self, allowed: Sequence[str] = (), resolve: Resolve = look_up) -> None:
        self._allowed = [_network(text) for text in allowed]
        self._resolve = resolve

    async def address(self, host: str, port: int) -> str:
        """Return the address to connect to. Refuse a name if any of its addresses is not allowed."""
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise UrlRefused from None
        if not found or not all(self.is_outside(text) for text in found):
            raise UrlRefused
        return found[0]

    def is_outside(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address):
            if address.scope_id is not None:
                return False
            address = address.ipv4_mapped or address
        if any(address in network for network in self._allowed):
            return True
        return address.is_global and not address.is_multicast and not any(address in network for network in _INSIDE)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise errors.UserError(f"allowed_fetch_networks: {error}", hint="write a network as 10.1.0.0/16") from error
