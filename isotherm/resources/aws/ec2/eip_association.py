"""AWS::EC2::EIPAssociation: has an address lead to a server or to a port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.aws.ec2 import eip, interfaces
from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.neutron.floating_ips.floating_ip_association import Association
from isotherm.resources.openstack.table import Column, custom
from isotherm.resources.schema import STRING, Schema

ADDRESS, ALLOCATION, INSTANCE, INTERFACE = "EIP", "AllocationId", "InstanceId", "NetworkInterfaceId"


def _column(description: str, **more: Any) -> Column:
    return Column(schema=Schema(STRING, description, update_allowed=True, **more), is_sent=False)


class EIPAssociation(Association):
    """An association of Neutron. Its physical id is that of the floating IP."""

    TYPE = "AWS::EC2::EIPAssociation"
    DESCRIPTION = "Has an address lead to a server or to one of its interfaces."
    table = base.table(
        "", "floatingip", token=None, is_unique=True,
        columns={
            INSTANCE: _column("The id of the server.", constraints=custom("nova.server")),
            ADDRESS: _column("The address.", constraints=custom("ip_addr")),
            ALLOCATION: _column("The id of the address: its AllocationId."),
            INTERFACE: _column("The id of the network interface."),
        },
        attributes={},
    )

    async def target(self) -> tuple[str, str, str | None]:
        given = self.properties
        if not given[ALLOCATION] and not given[ADDRESS]:
            raise errors.Permanent(f"Either '{ADDRESS}' or '{ALLOCATION}' must be provided.")
        if not given[INTERFACE] and not given[INSTANCE]:
            raise errors.Permanent(f"Must specify at least one of '{INSTANCE}' or '{INTERFACE}'.")
        port = given[INTERFACE] or await interfaces.first_port(
            self.other_service("compute", finders.COMPUTE), given[INSTANCE])
        return given[ALLOCATION] or await self._of_address(given[ADDRESS]), port, None

    async def _of_address(self, address: str) -> str:
        found = await self.service.pages("/floatingips", "floatingips", {eip.ADDRESS: address})
        if not found:
            raise errors.Permanent(f"The project has no floating IP {address}.")
        return str(found[0]["id"])

    def live(self, found: Found) -> Found:
        if found[eip.PORT] == self.data.get(eip.PORT):
            return {name: value for name, value in self.properties.items() if value is not None}
        device = (found.get("port_details") or {}).get("device_id", "")
        # Of the two, that counts which the template gives.
        return {INSTANCE: device, INTERFACE: found[eip.PORT]}

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        # A value that other resources have yet to give is missing here: what is missing is a matter of `target`.
        for one, other in ((ADDRESS, ALLOCATION), (ADDRESS, INTERFACE)):
            if properties.get(one) and properties.get(other):
                yield f"Cannot define the following properties at the same time: {one}, {other}."

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return what connects servers with the external network."""
        return eip.ways_out(others)
