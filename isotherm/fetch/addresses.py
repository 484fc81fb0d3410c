"""Which addresses may be spoken to on a user's behalf: those out there, and what the operator has named.

A user who can make us connect to an address of our own network would reach through us what he cannot reach himself.
Names are resolved here, once, and what was checked is what is connected to: a name that means something else a moment
later means nothing to us. A name that does not exist is refused in the same words as one that may not be used, so that
nobody learns our names by asking.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from isotherm import errors

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# The addresses of a name, as text.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# What is not marked as private everywhere, and still leads inside: shared addresses, benchmarks, reserved, the host of a
# cloud's machines; and IPv6 forms that carry an IPv4 address we would not see.
_INSIDE = tuple(ipaddress.ip_network(text) for text in (
    "0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/4",
    "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2002::/16", "fc00::/7", "fe80::/10",
    "fec0::/10", "ff00::/8", "::/96",
))


class Refused(errors.UserError):
    """One text for all that may not be fetched: it tells nothing of what is there."""

    default_kind = "HTTPBadRequest"

    def __init__(self) -> None:
        super().__init__("The URL is not one that can be fetched from here.",
                         hint="http or https, a public address, and no user name or password in it.")


async def look_up(host: str, port: int) -> Sequence[str]:
    """The addresses of a name, from the system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class AllowedAddresses:
    """Tells what is outside. `allowed` are networks that count as outside although they are not."""

    def __init__(self, allowed: Sequence[str] = (), resolve: Resolve = look_up) -> None:
        self._allowed = [_network(text) for text in allowed]
        self._resolve = resolve

    async def address(self, host: str, port: int) -> str:
        """The address to connect to. All addresses of a name have to be outside: which one is used is chance."""
        try:
            found = await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise Refused from None
        if not found or not all(self.is_outside(text) for text in found):
            raise Refused
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
        raise errors.UserError(f"allowed_fetch_networks: {error}", hint="a network is written like 10.1.0.0/16") from error
