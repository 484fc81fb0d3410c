"""Resources of a template that a floating IP needs before it can lead to a port: gateways and router interfaces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack.neutron import base

_ROUTER, _GATEWAY = "OS::Neutron::Router", "OS::Neutron::RouterGateway"
_INTERFACE, _PORT, _SUBNET = "OS::Neutron::RouterInterface", "OS::Neutron::Port", "OS::Neutron::Subnet"


def gateways_to(network: Any, others: contract.Neighbours) -> Iterator[str]:
    """Yield the routers and gateways that connect to an external network."""
    if network is None:
        return
    for one in others.of_type(_ROUTER):
        info = one.properties.get("external_gateway_info")
        if isinstance(info, Mapping) and info.get("network") == network:
            yield one.name
    for one in others.of_type(_GATEWAY):
        if base.given(one.properties, "network", "network_id") == network:
            yield one.name


def interfaces_for(port: str, others: contract.Neighbours) -> Iterator[str]:
    """Yield the interfaces of routers to the subnets on which a port of the template has addresses.

    A port that names no subnet may get an address of any subnet of its network; where that is not known, all count.
    """
    found = others.named(port)
    if found is None or found.type != _PORT:
        return
    subnets = _subnets(found, others)
    for one in others.of_type(_INTERFACE):
        subnet = base.given(one.properties, "subnet", "subnet_id")
        if subnet is not None and (not subnets or subnet in subnets):
            yield one.name


def _subnets(port: contract.Neighbour, others: contract.Neighbours) -> list[Any]:
    """Return the subnets of a port, as the interfaces of the template refer to them; empty if they are not known."""
    addresses = port.properties.get("fixed_ips")
    named = [base.given(one, "subnet", "subnet_id") for one in addresses if isinstance(one, Mapping)] if isinstance(
        addresses, list | tuple) else []
    if any(one is not None for one in named):
        return [one for one in named if one is not None]
    names = base.subnets_of(base.given(port.properties, "network", "network_id"), others)
    referring = [base.given(one.properties, "subnet", "subnet_id") for one in others.of_type(_INTERFACE)]
    return [one for one in referring if contract.referenced(one) in names]
