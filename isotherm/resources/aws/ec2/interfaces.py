"""The interface of a server to which an address leads, and the network from which addresses come."""

from __future__ import annotations

from isotherm import errors
from isotherm.resources.openstack import rest


async def first_port(compute: rest.Service, server: str) -> str:
    """Return the id of the port of the first interface of a server."""
    found = await compute.get(f"/servers/{rest.part(server)}/os-interface")
    ports = [str(one["port_id"]) for one in found["interfaceAttachments"]]
    if not ports:
        raise errors.Permanent(f"The server {server} has no interface to which an address could lead.")
    return ports[0]


async def external_network(neutron: rest.Service) -> str:
    """Return the id of the only external network."""
    found = await neutron.pages("/networks", "networks", {"router:external": True, "fields": "id"})
    if len(found) != 1:
        raise errors.Permanent(f"An address comes from the external network of the cloud, and it has {len(found)} of them. "
                               "OS::Neutron::FloatingIP names one.")
    return str(found[0]["id"])
