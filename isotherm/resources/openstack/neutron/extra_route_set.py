"""OS::Neutron::ExtraRouteSet: routes of a router. Its physical id is `ROUTER:TOKEN`, as a router may have several sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, lists
from isotherm.resources.openstack.table import Column, custom, since
from isotherm.resources.schema import LIST, MAP, STRING, Schema

ROUTER, ROUTES, DESTINATION, NEXT_HOP = "router", "routes", "destination", "nexthop"


class ExtraRouteSet(base.NeutronResource):
    """Routes of a router of Neutron, beside those that others have given it. Neutron adds and removes them as one."""

    TYPE = "OS::Neutron::ExtraRouteSet"
    DESCRIPTION = "Routes of a router, beside its other routes."
    support = since("14.0.0")
    table = base.table(
        "", "router", token=None,
        columns={
            ROUTER: Column(schema=Schema(STRING, "The router, by name or id.", required=True,
                                         constraints=custom("neutron.router")), finder=finders.router),
            ROUTES: Column(schema=Schema(
                LIST, "The routes.", default=[], update_allowed=True, schema=Schema(MAP, "A route.", schema={
                    DESTINATION: Schema(STRING, "The range of addresses that the route leads to.", required=True,
                                        constraints=custom("net_cidr")),
                    NEXT_HOP: Schema(STRING, "The address of the next hop.", required=True,
                                     constraints=custom("ip_addr"))}))),
        },
        attributes={},
    )

    @property
    def _router_id(self) -> str:
        return str(self.physical_id).partition(":")[0]

    # Create. First it is looked whether others have made such a route; after that, all routes of the set are its own.

    async def handle_create(self) -> object:
        present = [one for one in await self._routes(self.properties[ROUTER]) if one in self.properties[ROUTES]]
        if present:
            raise errors.Permanent(f"the router {self.properties[ROUTER]} has the route to {present[0][DESTINATION]} by "
                                   f"{present[0][NEXT_HOP]} already")
        self.data[ROUTES] = self.properties[ROUTES]
        self.physical_id = f"{self.properties[ROUTER]}:{self.token}"
        return {"looked": True}

    async def find_by_token(self) -> contract.Search:
        """Find nothing: a creation without an id has not gone beyond the look."""
        return contract.Absent()

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        await self._add()
        return True

    async def _routes(self, router: str) -> list[Found]:
        """Return the routes of a router."""
        answer = await self.service.get(f"/routers/{rest.part(router)}")
        return list(answer[self.table.key][ROUTES])

    async def _change(self, verb: str, router: str, routes: Sequence[Mapping[str, Any]]) -> None:
        """Add or remove routes. What is there already, or is not there, is passed over."""
        if routes:
            await self.service.put(f"/routers/{rest.part(router)}/{verb}_extraroutes",
                                   {self.table.key: {ROUTES: list(routes)}})

    # Update.

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        wanted = self.properties[ROUTES] or []
        await self._change("remove", self._router_id, [one for one in self._own(before) if one not in wanted])
        await self._add()
        return None

    async def _add(self) -> None:
        # Noted first: an update that fails may have added routes that its successor has to remove.
        self.data[ROUTES] = self._own(self.properties)
        await self._change("add", self._router_id, self.properties[ROUTES] or ())

    def _own(self, properties: Mapping[str, Any]) -> list[Found]:
        """Return all routes that may be of this set."""
        noted = self.data.get(ROUTES) or []
        return [*noted, *(one for one in properties.get(ROUTES) or () if one not in noted)]

    # Delete.

    async def delete_object(self) -> None:
        await self._change("remove", self._router_id, self._own(self.properties))

    # Reality.

    async def show(self) -> Found | None:
        """Return the router."""
        answer = None if self.physical_id is None else await self.service.find(f"/routers/{rest.part(self._router_id)}")
        return None if answer is None else answer[self.table.key]

    def live(self, found: Found) -> Found:
        """Return those of the routes that the router has; the others of the router are not of this set."""
        own = self.properties[ROUTES] or ()
        return {ROUTES: lists.in_order_of(own, [one for one in found[ROUTES] if one in own])}

    async def reference(self) -> object:
        return self.name if self.physical_id is None else self._router_id

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the interfaces of the router: next hops are on their subnets."""
        return [one.name for one in others.of_type("OS::Neutron::RouterInterface")
                if base.given(one.properties, ROUTER, "router_id") == properties.get(ROUTER)]

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        routes = [(one.get(DESTINATION), one.get(NEXT_HOP)) for one in properties.get(ROUTES) or ()]
        twice = next((one for one in routes if routes.count(one) > 1), None)
        if twice is not None:
            yield f"The route to {twice[0]} by {twice[1]} is given twice."
