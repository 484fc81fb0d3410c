"""OS::Neutron::RouterInterface: the connection of a router to a subnet. Its physical id is `ROUTER:subnet_id=SUBNET`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.table import Column, custom, since
from isotherm.resources.schema import DEPRECATED, HIDDEN, STRING, Schema, Support
from isotherm.resources.translation import Kind, Rule

ROUTER, SUBNET, PORT = "router", "subnet", "port"
SUBNET_ID, PORT_ID = "subnet_id", "port_id"


def _old(name: str, status: Support) -> Column:
    """Return the column of an old spelling of a property."""
    return Column(schema=Schema(STRING, f"The {name}, by name or id.", constraints=custom(f"neutron.{name}"),
                                support=status), is_sent=False)


class RouterInterface(base.NeutronResource):
    """A port by which a router is in a subnet. Neutron has no object of its own for it, and so no token."""

    TYPE = "OS::Neutron::RouterInterface"
    DESCRIPTION = "The connection of a router to a subnet."
    translation_rules = (
        Rule(Kind.REPLACE, (ROUTER,), ("router_id",)),
        Rule(Kind.REPLACE, (SUBNET,), (SUBNET_ID,)),
        Rule(Kind.REPLACE, (PORT,), (PORT_ID,)),
    )
    table = base.table(
        "", "port", list_path="/ports", token=None, is_unique=True,
        columns={
            ROUTER: Column(schema=Schema(
                STRING, "The router, by name or id.", required=True, constraints=custom("neutron.router")),
                finder=finders.router),
            "router_id": _old(ROUTER, Support(HIDDEN, "6.0.0", "Use property router.", Support(DEPRECATED, "2015.1"))),
            SUBNET_ID: _old(SUBNET, Support(HIDDEN, "5.0.0", "Use property subnet.", Support(DEPRECATED, "2014.2"))),
            SUBNET: Column(schema=Schema(
                STRING, "The subnet that the router is in, by name or id.", constraints=custom("neutron.subnet")),
                finder=finders.subnet),
            PORT_ID: _old(PORT, Support(HIDDEN, "6.0.0", "Use property port.", Support(DEPRECATED, "2015.1"))),
            PORT: Column(schema=Schema(
                STRING, "The port by which the router is in its subnet, by name or id.",
                constraints=custom("neutron.port"), support=since("2015.1")), finder=finders.port),
        },
        attributes={},
    )

    @property
    def _side(self) -> Found:
        """The subnet or the port, as the request names it."""
        subnet = self.properties[SUBNET]
        return {SUBNET_ID: subnet} if subnet else {PORT_ID: self.properties[PORT]}

    async def handle_create(self) -> object:
        [(name, value)] = self._side.items()
        made = f"{self.properties[ROUTER]}:{name}={value}"
        try:
            await self.service.put(f"/routers/{rest.part(self.properties[ROUTER])}/add_router_interface", self._side)
        except (faults.Rejected, faults.InUse, faults.ServiceError):
            # An earlier request may have made it: then Neutron refuses a second one.
            if await self._port(made) is None:
                raise
        self.physical_id = made
        return None

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        """Return True: the answer of the request says that the interface is there."""
        return True

    async def find_by_token(self) -> contract.Search:
        [(name, value)] = self._side.items()
        made = f"{self.properties[ROUTER]}:{name}={value}"
        return contract.found(made if await self._port(made) is not None else None)

    async def show(self) -> Found | None:
        return None if self.physical_id is None else await self._port(self.physical_id)

    async def _port(self, interface: str) -> Found | None:
        """Return the port of an interface."""
        router, name, value = _parts(interface)
        query = {"device_id": router, **({"id": value} if name == PORT_ID else {"fixed_ips": f"subnet_id={value}"})}
        found = await self.service.pages("/ports", "ports", query)
        # The gateway of the router is another port of it, and not an interface.
        return next((one for one in found if one["device_owner"] != "network:router_gateway"), None)

    async def delete_object(self) -> None:
        router, name, value = _parts(str(self.physical_id))
        await self.service.put(f"/routers/{rest.part(router)}/remove_router_interface", {name: value})

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        subnet, port = properties.get(SUBNET), properties.get(PORT)
        if subnet and port:
            yield f"Cannot define the following properties at the same time: {SUBNET}, {PORT}."
        if not subnet and not port:
            yield f"At least one of the following properties must be specified: {SUBNET}, {PORT}."


def _parts(interface: str) -> tuple[str, str, str]:
    """Return the router, `subnet_id` or `port_id`, and the value of it. Ids of old Heat have the subnet alone."""
    router, _, side = interface.partition(":")
    name, equals, value = side.partition("=")
    return (router, name, value) if equals else (router, SUBNET_ID, side)
