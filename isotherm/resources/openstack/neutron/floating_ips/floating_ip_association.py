"""OS::Neutron::FloatingIPAssociation: has a floating IP lead to a port. Its physical id is that of the floating IP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.neutron.floating_ips import reachability
from isotherm.resources.openstack.table import Column, custom
from isotherm.resources.schema import STRING, Schema

FLOATING_IP, PORT, FIXED_ADDRESS = "floatingip_id", "port_id", "fixed_ip_address"


class Association(base.NeutronResource):
    """A floating IP that leads to a port. It has no object of its own: setting it again changes nothing."""

    async def target(self) -> tuple[str, str, str | None]:
        """Return the ids of the floating IP and of the port, and the address of the port where it is chosen."""
        raise NotImplementedError

    async def handle_create(self) -> object:
        floating_ip, port, address = await self.target()
        await self._lead(floating_ip, port, address)
        self.physical_id = floating_ip
        return None

    async def find_by_token(self) -> contract.Search:
        floating_ip, port, _ = await self.target()
        answer = await self.service.find(f"/floatingips/{rest.part(floating_ip)}")
        return contract.found(floating_ip if answer and answer[self.table.key][PORT] == port else None)

    async def finish(self) -> None:
        """Do nothing: one request makes all."""

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        floating_ip, port, address = await self.target()
        if self.physical_id not in (None, floating_ip):
            await self._detach()
        await self._lead(floating_ip, port, address)
        self.physical_id = floating_ip
        return None

    async def _lead(self, floating_ip: str, port: str | None, address: str | None) -> None:
        body = {PORT: port, FIXED_ADDRESS: address}
        await self.service.put(f"/floatingips/{rest.part(floating_ip)}", {self.table.key: body})
        if port is not None:
            self.data[PORT] = port

    async def show(self) -> Found | None:
        """Return the floating IP, or None if it leads to no port."""
        found = None if self.physical_id is None else await self.service.find(f"/floatingips/{rest.part(self.physical_id)}")
        return found[self.table.key] if found and found[self.table.key][PORT] else None

    async def delete_object(self) -> None:
        await self._detach()

    async def _detach(self) -> None:
        found = await self.show()
        # A floating IP that was led to another port in the meantime is left alone.
        if found is None or found[PORT] != self.data.get(PORT, found[PORT]):
            return
        try:
            await self._lead(str(self.physical_id), None, None)
        except faults.NoSuchObject:
            return


class FloatingIPAssociation(Association):
    """An association of Neutron."""

    TYPE = "OS::Neutron::FloatingIPAssociation"
    DESCRIPTION = "Has a floating IP lead to a port."
    table = base.table(
        "", "floatingip", token=None, is_unique=True,
        columns={
            FLOATING_IP: Column(schema=Schema(STRING, "The floating IP, by id or address.", required=True,
                                              update_allowed=True), finder=finders.floating_ip),
            PORT: Column(schema=Schema(STRING, "The port that the address leads to, by name or id.", required=True,
                                       update_allowed=True, constraints=custom("neutron.port")), finder=finders.port),
            FIXED_ADDRESS: Column(schema=Schema(STRING, "The address of the port, where it has several.",
                                                update_allowed=True, constraints=custom("ip_addr"))),
        },
        attributes={},
    )

    async def target(self) -> tuple[str, str, str | None]:
        return self.properties[FLOATING_IP], self.properties[PORT], self.properties[FIXED_ADDRESS]

    def live(self, found: Found) -> Found:
        return {FLOATING_IP: found["id"], PORT: found[PORT], FIXED_ADDRESS: found[FIXED_ADDRESS]}

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the interfaces that connect the port with a router."""
        port = contract.referenced(properties.get(PORT))
        return [] if port is None else list(reachability.interfaces_for(port, others))
