"""OS::Nova::FloatingIP and OS::Nova::FloatingIPAssociation: floating ips, as Nova had them. Neutron serves them.

Retired: OS::Neutron::FloatingIP and OS::Neutron::FloatingIPAssociation do the same. Old templates still have them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.neutron.floating_ips import floating_ip, floating_ip_association, reachability
from isotherm.resources.openstack.table import Column, custom
from isotherm.resources.schema import DEPRECATED, HIDDEN, STRING, AttributeSchema, Schema, Support

POOL, SERVER, FLOATING_IP = "pool", "server_id", "floating_ip"
_ATTRIBUTES = {POOL: floating_ip.NETWORK_ID, "ip": floating_ip.ADDRESS}


def _retired(type_: str) -> Support:
    return Support(HIDDEN, "11.0.0", f"Use {type_} instead.", Support(DEPRECATED, "9.0.0"))


class NovaFloatingIP(base.NeutronResource):
    """A floating ip of Neutron, from a pool: an external network."""

    TYPE = "OS::Nova::FloatingIP"
    DESCRIPTION = "An address of an external network."
    support = _retired(floating_ip.FloatingIP.TYPE)
    table = base.table(
        "/floatingips", "floatingip", finder=finders.floating_ip,
        columns={
            POOL: Column(
                schema=Schema(STRING, "The external network, by name or id. Left out, the only one is taken."),
                wire=floating_ip.NETWORK_ID, finder=finders.network),
        },
        attributes={
            POOL: AttributeSchema("The id of the external network.", STRING),
            "ip": AttributeSchema("The address.", STRING),
        },
    )
    _only_network: str | None = None

    async def handle_create(self) -> object:
        if not self.properties[POOL]:
            found = await self.service.pages("/networks", "networks", {"router:external": True})
            if len(found) != 1:
                raise errors.Permanent(f"{POOL} is needed, because there are {len(found)} external networks")
            self._only_network = self.id_in(found[0])
        return await super().handle_create()

    def create_body(self) -> Found:
        body = super().create_body()
        return {**body, floating_ip.NETWORK_ID: self._only_network} if self._only_network else body

    async def attribute_in(self, name: str, found: Found) -> object:
        return await super().attribute_in(_ATTRIBUTES.get(name, name), found)

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the gateways to the external network."""
        return reachability.gateways_to(properties.get(POOL), others)


class NovaFloatingIPAssociation(floating_ip_association.Association):
    """A floating ip that leads to the first address of a server."""

    TYPE = "OS::Nova::FloatingIPAssociation"
    DESCRIPTION = "Has a floating ip lead to a server."
    support = _retired(floating_ip_association.FloatingIPAssociation.TYPE)
    table = base.table(
        "", "floatingip", token=None, is_unique=True,
        columns={
            SERVER: Column(schema=Schema(STRING, "The id of the server.", required=True, update_allowed=True,
                                         constraints=custom("nova.server"))),
            FLOATING_IP: Column(schema=Schema(STRING, "The id of the floating ip.", required=True, update_allowed=True)),
        },
        attributes={},
    )

    async def target(self) -> tuple[str, str, str | None]:
        """Return the floating ip, the port of the server's first interface, and its first IPv4 address."""
        server = self.properties[SERVER]
        compute = self.other_service("compute", finders.COMPUTE)
        answer = await compute.get(f"/servers/{rest.part(server)}/os-interface")
        for interface in answer["interfaceAttachments"]:
            addresses = [one["ip_address"] for one in interface["fixed_ips"] or ()]
            first = next((one for one in addresses if ipaddress.ip_address(one).version == 4), None)
            return self.properties[FLOATING_IP], interface["port_id"], first
        raise errors.Permanent(f"the server {server} has no interface that a floating ip could lead to")

    async def handle_get_reality(self) -> contract.LiveState:
        found = await self.show()
        if found is None:
            return contract.Gone()
        port = await self.service.find(f"/ports/{rest.part(found[floating_ip_association.PORT])}")
        server = port["port"]["device_id"] if port else None
        return contract.Seen({FLOATING_IP: found["id"], SERVER: server or None})

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the interfaces of routers: one of them connects the server with the external network."""
        return [one.name for one in others.of_type("OS::Neutron::RouterInterface")]
