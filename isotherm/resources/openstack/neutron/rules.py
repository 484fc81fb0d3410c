"""Rules of security groups: their properties, and when two of them are equal."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

from isotherm.resources.openstack.table import allowed, between, custom
from isotherm.resources.schema import INTEGER, STRING, Schema

DIRECTION, ETHERTYPE, PROTOCOL = "direction", "ethertype", "protocol"
PORT_MIN, PORT_MAX = "port_range_min", "port_range_max"
REMOTE_GROUP_ID, REMOTE_PREFIX, DESCRIPTION = "remote_group_id", "remote_ip_prefix", "description"
EGRESS, IPV4, IPV6 = "egress", "IPv4", "IPv6"

_NUMBERS = {
    "ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "icmp": 1, "icmpv6": 58, "igmp": 2, "ipv6-encap": 41,
    "ipv6-frag": 44, "ipv6-icmp": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43, "ospf": 89, "pgm": 113,
    "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136, "vrrp": 112,
}
PROTOCOLS: tuple[Any, ...] = (*range(256), *sorted(_NUMBERS))
_ICMP, _ICMPV6 = "1", "58"
# The fields by which Neutron tells rules of a group apart. The description is none of them.
_CONTENT = (DIRECTION, ETHERTYPE, PROTOCOL, PORT_MIN, PORT_MAX, REMOTE_GROUP_ID, REMOTE_PREFIX)
# Rules that each group of Neutron has at first: all may go out.
DEFAULT_EGRESS = tuple({DIRECTION: EGRESS, ETHERTYPE: version} for version in (IPV4, IPV6))
# The token that a rule carries that is a resource of its own.
_TOKEN = re.compile(r"isotherm-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Key = tuple[str, ...]


def schemas(**protocol: Any) -> dict[str, Schema]:
    """Return the properties that a rule has alone and inside of a group; `protocol` are further fields of that one."""
    return {
        DIRECTION: Schema(STRING, "Whether traffic comes in (ingress) or goes out (egress).", default="ingress",
                          constraints=allowed("ingress", EGRESS)),
        ETHERTYPE: Schema(STRING, "The kind of addresses: IPv4 or IPv6.", default=IPV4, constraints=allowed(IPV4, IPV6)),
        PORT_MIN: Schema(INTEGER, "The first port, or the type of an ICMP message.", constraints=between(0, 65535)),
        PORT_MAX: Schema(INTEGER, "The last port, or the code of an ICMP message.", constraints=between(0, 65535)),
        PROTOCOL: Schema(STRING, "The protocol, by name or number.", constraints=allowed(*PROTOCOLS), **protocol),
        REMOTE_PREFIX: Schema(STRING, "The range of addresses of the other side.", constraints=custom("net_cidr")),
    }


def key(rule: Mapping[str, Any]) -> Key:
    """Return the content of a rule: two rules with equal keys are one to Neutron."""
    found = {name: "" if rule.get(name) is None else str(rule[name]) for name in _CONTENT}
    protocol = str(_NUMBERS.get(found[PROTOCOL], found[PROTOCOL]))
    if protocol == _ICMP and found[ETHERTYPE] == IPV6:
        protocol = _ICMPV6
    return tuple((found | {PROTOCOL: protocol, REMOTE_PREFIX: _prefix(found[REMOTE_PREFIX])})[name] for name in _CONTENT)


def keys(rules: Iterable[Mapping[str, Any]]) -> set[Key]:
    return {key(rule) for rule in rules}


def is_resource(rule: Mapping[str, Any]) -> bool:
    """Return whether a live rule is a resource of its own: it is not the group's to compare or to delete.

    A rule with a description of the template carries no token: Neutron has neither updates nor tags of rules.
    """
    return _TOKEN.fullmatch(str(rule.get(DESCRIPTION))) is not None


def to_wire(rule: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Return a rule as Neutron takes it: ports are texts."""
    found = {name: rule[name] for name in (*_CONTENT, DESCRIPTION) if rule.get(name) is not None}
    found.update({name: str(found[name]) for name in (PORT_MIN, PORT_MAX, PROTOCOL) if name in found})
    return {**found, "security_group_id": group}


def _prefix(value: str) -> str:
    """Return a range of addresses in the form that Neutron compares: an address without a length is a range of one."""
    try:
        return str(ipaddress.ip_network(value, strict=False)) if value else ""
    except ValueError:
        return value
