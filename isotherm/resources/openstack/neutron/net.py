"""OS::Neutron::Net: a network."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.table import Column, custom, name_column, since
from isotherm.resources.schema import BOOLEAN, INTEGER, LIST, STRING, AttributeSchema, Schema

DHCP_AGENTS = "dhcp_agent_ids"


class Net(base.NeutronResource):
    """A network of Neutron."""

    TYPE = "OS::Neutron::Net"
    DESCRIPTION = "A virtual network: servers and routers are connected by its ports."
    table = base.table(
        "/networks", "network", finder=finders.network, states=base.STATES,
        columns={
            "name": name_column("The name of the network."),
            base.VALUE_SPECS: base.VALUE_SPECS_COLUMN,
            "admin_state_up": Column(schema=Schema(
                BOOLEAN, "Whether the network carries traffic.", default=True, update_allowed=True)),
            "tenant_id": Column(schema=Schema(
                STRING, "The id of the project that owns the network. Only administrators may set it.")),
            "shared": Column(schema=Schema(
                BOOLEAN, "Whether all projects may use the network. By default only administrators may share networks.",
                default=False, update_allowed=True, observable=False)),
            DHCP_AGENTS: Column(schema=Schema(
                LIST, "The ids of the DHCP agents that serve the network. Only administrators may choose them.",
                update_allowed=True, normalise=sorted), is_sent=False),
            "port_security_enabled": Column(schema=Schema(
                BOOLEAN, "Whether ports of the network are protected unless they say otherwise.", update_allowed=True,
                support=since("5.0.0")), cleared=True, only_given=True),
            "qos_policy": Column(
                schema=Schema(STRING, "The QoS policy of the network, by name or id.", update_allowed=True,
                              constraints=custom("neutron.qos_policy"), support=since("6.0.0")),
                wire="qos_policy_id", finder=finders.qos_policy),
            "dns_domain": Column(schema=Schema(
                STRING, "The DNS domain of the network.", update_allowed=True, constraints=custom("dns_domain"),
                support=since("7.0.0")), cleared=""),
            "availability_zone_hints": Column(schema=Schema(
                LIST, "The availability zones that the network should be in.", support=since("19.0.0"))),
            base.TAGS: base.TAGS_COLUMN,
        },
        attributes={
            "status": AttributeSchema("The status of the network.", STRING),
            "name": AttributeSchema("The name of the network.", STRING),
            "subnets": AttributeSchema("The ids of the subnets of the network.", LIST),
            "admin_state_up": AttributeSchema("Whether the network carries traffic.", STRING),
            "tenant_id": AttributeSchema("The id of the project that owns the network.", STRING),
            "port_security_enabled": AttributeSchema(
                "Whether ports are protected unless they say otherwise.", BOOLEAN, support=since("5.0.0")),
            "mtu": AttributeSchema("The largest packet, in bytes.", INTEGER, support=since("5.0.0")),
            "qos_policy_id": AttributeSchema("The id of the QoS policy.", STRING, support=since("6.0.0")),
            "l2_adjacency": AttributeSchema(
                "Whether all hosts of the network are in one segment.", BOOLEAN, support=since("9.0.0")),
            "segments": AttributeSchema("The segments of the network.", LIST, support=since("11.0.0")),
        },
    )

    @property
    def is_made_by_post(self) -> bool:
        return super().is_made_by_post and not self.properties[DHCP_AGENTS]

    async def finish(self) -> None:
        await super().finish()
        if self.properties[DHCP_AGENTS]:
            await self._set_agents(self.properties[DHCP_AGENTS])

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if DHCP_AGENTS in changed:
            await self._set_agents(self.properties[DHCP_AGENTS] or [])
        return await super().apply(before, changed)

    async def _set_agents(self, wanted: list[str]) -> None:
        present = await self._agents()
        for agent in sorted({*wanted} - {*present}):
            try:
                await self.service.post(f"/agents/{rest.part(agent)}/dhcp-networks", {"network_id": self.physical_id})
            except faults.InUse:  # the agent serves the network already
                continue
        for agent in sorted({*present} - {*wanted}):
            try:
                await self.service.delete(f"/agents/{rest.part(agent)}/dhcp-networks/{rest.part(self.physical_id)}")
            except (faults.NoSuchObject, faults.InUse):  # it does not serve the network any more
                continue

    async def _agents(self) -> list[str]:
        answer = await self.service.get(f"{self.path}/dhcp-agents")
        return [str(one["id"]) for one in answer["agents"]]

    async def completed(self, found: Found | None) -> contract.LiveState:
        if found is not None and self.properties[DHCP_AGENTS] is not None:
            with suppress(faults.Rejected):  # only administrators may list them
                found = {**found, DHCP_AGENTS: await self._agents()}
        return self.gone_or_seen(found)

    def live(self, found: Found) -> Found:
        live = super().live(found)
        return {**live, DHCP_AGENTS: found[DHCP_AGENTS]} if DHCP_AGENTS in found else live

    async def attribute_in(self, name: str, found: Found) -> object:
        if name != "segments":
            return await super().attribute_in(name, found)
        return await segments(self.service, str(self.physical_id))


async def segments(service: rest.Service, network: str) -> list[Found]:
    """Return the segments of a network. Those without a name, such as the one that it was created with, come first."""
    found = await service.pages("/segments", "segments", {"network_id": network})
    return sorted(found, key=lambda one: one["name"] is not None)
