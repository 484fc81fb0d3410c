"""AWS::EC2::EIP: an address of the external network, which may lead to a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.aws.ec2 import interfaces
from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.table import Column, allowed, custom
from isotherm.resources.schema import DEPRECATED, STRING, AttributeSchema, Schema, Support

INSTANCE, ADDRESS, PORT = "InstanceId", "floating_ip_address", "port_id"


def ways_out(others: contract.Neighbours) -> Iterable[str]:
    """Yield the interfaces and gateways of routers: without them an address has no route."""
    for one in others.of_type("OS::Neutron::RouterInterface"):
        yield one.name
    for one in others.of_type("OS::Neutron::RouterGateway"):
        yield one.name
    for one in others.of_type("OS::Neutron::Router"):
        if one.properties.get("external_gateway_info"):
            yield one.name


class EIP(base.NeutronResource):
    """A floating IP of the cloud's external network. Its reference is the address."""

    TYPE = "AWS::EC2::EIP"
    DESCRIPTION = "An address of the external network that may lead to a server."
    table = base.table(
        "/floatingips", "floatingip",
        columns={
            "Domain": Column(
                schema=Schema(STRING, "Passed over: all addresses are of a network.", constraints=allowed("vpc"),
                              support=Support(DEPRECATED, "9.0.0")), is_sent=False),
            INSTANCE: Column(
                schema=Schema(STRING, "The id of the server that the address leads to.", update_allowed=True,
                              constraints=custom("nova.server")), is_sent=False),
        },
        attributes={"AllocationId": AttributeSchema("The id of the floating IP.", STRING)},
    )

    async def handle_create(self) -> object:
        self.data["network"] = await interfaces.external_network(self.service)
        return await super().handle_create()

    def create_body(self) -> Found:
        return {**super().create_body(), "floating_network_id": self.data["network"]}

    @property
    def is_made_by_post(self) -> bool:
        return False

    async def finish(self) -> None:
        found = await self.service.get(self.path)
        self.data["address"] = found[self.table.key][ADDRESS]
        if self.properties[INSTANCE]:
            await self._lead(self.properties[INSTANCE])

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if INSTANCE in changed:
            await self._lead(self.properties[INSTANCE])
        return None

    async def _lead(self, server: str | None) -> None:
        port = await interfaces.first_port(self.other_service("compute", finders.COMPUTE), server) if server else None
        await self.service.put(self.path, {self.table.key: {PORT: port}})

    def live(self, found: Found) -> Found:
        if not found[PORT]:
            return {INSTANCE: ""}
        details = found.get("port_details")
        return {INSTANCE: details["device_id"]} if details else {}

    async def reference(self) -> object:
        return self.data.get("address") or await super().reference()

    async def attribute_in(self, name: str, found: Found) -> object:
        return found["id"] if name == "AllocationId" else await super().attribute_in(name, found)

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return what connects servers with the external network."""
        return ways_out(others) if properties.get(INSTANCE) else ()
