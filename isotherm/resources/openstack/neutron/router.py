"""OS::Neutron::Router: connects subnets with each other and with an external network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, lists
from isotherm.resources.openstack.table import Column, custom, name_column, since
from isotherm.resources.schema import BOOLEAN, DEPRECATED, HIDDEN, LIST, MAP, STRING, AttributeSchema, Schema, Support
from isotherm.resources.translation import Kind, Rule

GATEWAY, NETWORK, SNAT, ADDRESSES = "external_gateway_info", "network", "enable_snat", "external_fixed_ips"
AGENT, AGENTS, HA, DISTRIBUTED = "l3_agent_id", "l3_agent_ids", "ha", "distributed"


def _gateway_to_wire(value: Mapping[str, Any]) -> dict[str, Any]:
    found = {"network_id": value[NETWORK], SNAT: value.get(SNAT)}
    if value.get(ADDRESSES):
        found[ADDRESSES] = lists.addresses_to_wire(value[ADDRESSES])
    return lists.without_nulls(found)


class Router(base.NeutronResource):
    """A router of Neutron."""

    TYPE = "OS::Neutron::Router"
    DESCRIPTION = "Connects subnets with each other and with an external network."
    translation_rules = (
        Rule(Kind.ADD, (AGENTS,), (AGENT,)),
        Rule(Kind.DELETE, (AGENT,)),
        Rule(Kind.RESOLVE, (GATEWAY, NETWORK), finder=finders.network),
        Rule(Kind.RESOLVE, (GATEWAY, ADDRESSES, lists.SUBNET), finder=finders.subnet),
    )
    table = base.table(
        "/routers", "router", finder=finders.router, states=base.STATES,
        columns={
            "name": name_column("The name of the router."),
            GATEWAY: Column(schema=Schema(
                MAP, "The connection to an external network.", update_allowed=True, schema={
                    NETWORK: Schema(STRING, "The external network, by name or id.", required=True, update_allowed=True),
                    SNAT: Schema(BOOLEAN, "Whether traffic to the outside gets the address of the router.",
                                 update_allowed=True),
                    ADDRESSES: Schema(
                        LIST, "The addresses of the router in the external network.", update_allowed=True,
                        support=since("6.0.0"), schema=Schema(MAP, "An address.", schema={
                            "ip_address": Schema(STRING, "The address.", constraints=custom("ip_addr")),
                            lists.SUBNET: Schema(STRING, "The subnet of the address, by name or id.",
                                                 constraints=custom("neutron.subnet"))}))}),
                to_wire=_gateway_to_wire, only_given=True),
            base.VALUE_SPECS: base.VALUE_SPECS_COLUMN,
            "admin_state_up": Column(schema=Schema(
                BOOLEAN, "Whether the router carries traffic.", default=True, update_allowed=True)),
            AGENT: Column(schema=Schema(
                STRING, "The id of the L3 agent.", update_allowed=True, support=Support(
                    HIDDEN, "6.0.0", f"Use property {AGENTS}.", Support(DEPRECATED, "2015.1"))), is_sent=False),
            AGENTS: Column(schema=Schema(
                LIST, "The ids of the L3 agents that serve the router. Only administrators may choose them.",
                update_allowed=True, schema=Schema(STRING, "The id of an agent."), support=since("2015.1"),
                normalise=sorted), is_sent=False),
            DISTRIBUTED: Column(schema=Schema(
                BOOLEAN, "Whether the router is distributed over the hosts. Only administrators may set it.",
                support=since("2015.1"))),
            HA: Column(schema=Schema(
                BOOLEAN, "Whether another agent takes over if one fails. Only administrators may set it.",
                support=since("2015.1"))),
            base.TAGS: base.TAGS_COLUMN,
            "availability_zone_hints": Column(schema=Schema(
                LIST, "The availability zones that the router should be in.", update_allowed=True,
                support=since("19.0.0"), normalise=sorted), cleared=[], only_given=True),
            "tenant_id": Column(schema=Schema(
                STRING, "The id of the project that owns the router. Only administrators may set it.",
                support=since("24.0.0"))),
        },
        attributes={
            "status": AttributeSchema("The status of the router.", STRING),
            GATEWAY: AttributeSchema("The connection to an external network.", MAP),
            "name": AttributeSchema("The name of the router.", STRING),
            "admin_state_up": AttributeSchema("Whether the router carries traffic.", STRING),
            "tenant_id": AttributeSchema("The id of the project that owns the router.", STRING),
        },
    )

    @property
    def is_made_by_post(self) -> bool:
        return super().is_made_by_post and not self.properties[AGENTS]

    async def finish(self) -> None:
        await super().finish()
        if self.properties[AGENTS]:
            await self._set_agents(self.properties[AGENTS])

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if AGENTS in changed:
            await self._set_agents(self.properties[AGENTS] or [])
        return await super().apply(before, changed)

    async def _set_agents(self, wanted: list[str]) -> None:
        """Have these agents serve the router. Unless it is highly available, only one may at a time."""
        present = await self._agents()
        for agent in sorted({*present} - {*wanted}):
            with suppress(faults.NoSuchObject, faults.InUse):  # it does not serve the router any more
                await self.service.delete(f"/agents/{rest.part(agent)}/l3-routers/{rest.part(self.physical_id)}")
        for agent in sorted({*wanted} - {*present}):
            with suppress(faults.InUse):  # it serves the router already
                await self.service.post(f"/agents/{rest.part(agent)}/l3-routers", {"router_id": self.physical_id})

    async def _agents(self) -> list[str]:
        answer = await self.service.get(f"{self.path}/l3-agents")
        return [str(one["id"]) for one in answer["agents"]]

    # Reality.

    async def completed(self, found: Found | None) -> contract.LiveState:
        if found is not None and self.properties[AGENTS]:
            with suppress(faults.Rejected):  # only administrators may list them
                found = {**found, AGENTS: await self._agents()}
        return self.gone_or_seen(found)

    def live(self, found: Found) -> Found:
        live = super().live(found)
        live[GATEWAY] = self._live_gateway(found.get(GATEWAY))
        return {**live, AGENTS: found[AGENTS]} if AGENTS in found else live

    def _live_gateway(self, found: Found | None) -> Found | None:
        if not found:
            return None
        wanted = (self.properties[GATEWAY] or {}).get(ADDRESSES)
        gateway = {NETWORK: found.get("network_id"), SNAT: found.get(SNAT)}
        if wanted:
            live = lists.addresses_from_wire(found.get(ADDRESSES))
            gateway[ADDRESSES] = lists.in_order_of(wanted, live)
        return lists.without_nulls(gateway)

    # Decisions.

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the subnets of the external network: Neutron takes the router's address from them."""
        gateway = properties.get(GATEWAY)
        network = gateway.get(NETWORK) if isinstance(gateway, Mapping) else None
        return base.subnets_of(network, others)

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        agents = properties.get(AGENTS) or []
        if properties.get(DISTRIBUTED) and agents:
            yield f"Cannot define the following properties at the same time: {DISTRIBUTED}, {AGENTS}."
        if properties.get(DISTRIBUTED) and properties.get(HA):
            yield f"Cannot define the following properties at the same time: {DISTRIBUTED}, {HA}."
        if len(agents) > 1 and not properties.get(HA):
            yield f"Non HA routers can only have one L3 agent. {AGENTS} names {len(agents)}; set {HA} to true."
