"""OS::Octavia::LoadBalancer: an address that distributes connections to servers."""

from __future__ import annotations

from isotherm.resources.openstack import faults, finders
from isotherm.resources.openstack.octavia import base
from isotherm.resources.openstack.table import Column, custom, name_column, since
from isotherm.resources.schema import LIST, STRING, AttributeSchema, Schema


class LoadBalancer(base.OctaviaResource):
    """A load balancer of Octavia."""

    TYPE = "OS::Octavia::LoadBalancer"
    DESCRIPTION = "A load balancer: its address takes the connections that listeners and pools distribute."
    support = since("10.0.0")
    table = base.table(
        "/loadbalancers", "loadbalancer", finder=finders.load_balancer,
        columns={
            "description": base.description_column("The description of the load balancer."),
            "name": name_column("The name of the load balancer."),
            "provider": Column(schema=Schema(STRING, "The provider of the load balancer; left out, the cloud's default.")),
            "vip_address": Column(schema=Schema(
                STRING, "The address of the load balancer; left out, Neutron chooses one.", constraints=custom("ip_addr"))),
            "vip_subnet": Column(
                schema=Schema(STRING, "The subnet of the address, by name or id.", required=True,
                              constraints=custom("neutron.subnet")),
                wire="vip_subnet_id", finder=finders.subnet),
            "admin_state_up": base.admin_state_up("Whether the load balancer takes connections."),
            "tenant_id": Column(
                schema=Schema(STRING, "The project that owns the load balancer. Only administrators may set it.",
                              constraints=custom("keystone.project")),
                wire="project_id"),
            "flavor": Column(
                schema=Schema(STRING, "The flavor of the load balancer, by name or id.",
                              constraints=custom("octavia.flavor"), support=since("14.0.0")),
                wire="flavor_id", finder=finders.load_balancer_flavor),
            "availability_zone": Column(schema=Schema(
                STRING, "The availability zone of the load balancer.", constraints=custom("octavia.availabilityzone"),
                support=since("17.0.0"))),
        },
        attributes={
            "vip_address": AttributeSchema("The address of the load balancer.", STRING),
            "vip_port_id": AttributeSchema("The id of the port of Neutron that has the address.", STRING),
            "vip_subnet_id": AttributeSchema("The id of the subnet of the address.", STRING),
            "pools": AttributeSchema("The pools of the load balancer, as maps with their ids.", LIST),
            "flavor_id": AttributeSchema("The id of the flavor.", STRING),
        },
    )

    async def load_balancer_id(self) -> str | None:
        return self.physical_id

    async def delete_object(self) -> None:
        """Ask for the delete, with all that is below it where that cannot be deleted any more."""
        try:
            await self.service.delete(self.path)
        except (base.Immutable, faults.Rejected):
            if not base.has_failed(await self.load_balancer()):
                raise
            await self.service.delete(f"{self.path}?cascade=true")
