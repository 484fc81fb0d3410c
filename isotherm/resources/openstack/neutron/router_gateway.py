"""OS::Neutron::RouterGateway: the connection of a router to an external network. Its physical id is `ROUTER:NETWORK`.

Retired: `external_gateway_info` of OS::Neutron::Router does the same. Old templates still have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.table import Column, custom
from isotherm.resources.schema import DEPRECATED, HIDDEN, STRING, Schema, Support
from isotherm.resources.translation import Kind, Rule

ROUTER, NETWORK, NETWORK_ID, _INFO = "router_id", "network", "network_id", "external_gateway_info"


class RouterGateway(base.NeutronResource):
    """The gateway of a router of Neutron. It has no object of its own: setting it again changes nothing."""

    TYPE = "OS::Neutron::RouterGateway"
    DESCRIPTION = "The connection of a router to an external network."
    support = Support(HIDDEN, "5.0.0", "Use the external_gateway_info property of OS::Neutron::Router.",
                      Support(DEPRECATED, "2014.1"))
    translation_rules = (Rule(Kind.REPLACE, (NETWORK,), (NETWORK_ID,)),)
    table = base.table(
        "", "router", token=None, is_unique=True,
        columns={
            ROUTER: Column(schema=Schema(STRING, "The router, by name or id.", required=True,
                                         constraints=custom("neutron.router")), finder=finders.router),
            NETWORK_ID: Column(schema=Schema(
                STRING, "The external network, by name or id.", constraints=custom("neutron.network"), support=Support(
                    HIDDEN, "9.0.0", f"Use property {NETWORK}.", Support(DEPRECATED, "2014.2"))), is_sent=False),
            NETWORK: Column(schema=Schema(STRING, "The external network, by name or id.",
                                          constraints=custom("neutron.network")), finder=finders.network),
        },
        attributes={},
    )

    @property
    def _wanted_id(self) -> str:
        return f"{self.properties[ROUTER]}:{self.properties[NETWORK]}"

    async def handle_create(self) -> object:
        await self._set(self.properties[ROUTER], {NETWORK_ID: self.properties[NETWORK]})
        self.physical_id = self._wanted_id
        return None

    async def find_by_token(self) -> contract.Search:
        return contract.found(self._wanted_id if await self._router(self._wanted_id) is not None else None)

    async def finish(self) -> None:
        """Do nothing: one request makes all."""

    async def show(self) -> Found | None:
        return None if self.physical_id is None else await self._router(self.physical_id)

    async def _router(self, gateway: str) -> Found | None:
        """Return the router of a gateway, or None if it has another gateway or none."""
        router, _, network = gateway.partition(":")
        answer = await self.service.find(f"/routers/{rest.part(router)}")
        info = (answer["router"].get(_INFO) if answer else None) or {}
        return answer["router"] if info.get(NETWORK_ID) == network else None

    async def delete_object(self) -> None:
        if await self.show() is not None:
            await self._set(str(self.physical_id).partition(":")[0], {})

    async def _set(self, router: str, info: Found) -> None:
        await self.service.put(f"/routers/{rest.part(router)}", {"router": {_INFO: info}})

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the interfaces of the router, and the subnets of the external network."""
        yield from base.subnets_of(base.given(properties, NETWORK, NETWORK_ID), others)
        for one in others.of_type("OS::Neutron::RouterInterface"):
            if base.given(one.properties, "router", ROUTER) == properties.get(ROUTER):
                yield one.name

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        if not properties.get(NETWORK):
            yield f"Property {NETWORK} not assigned"
