"""OS::Neutron::ProviderNet: a network that is a given network of the data centre. By default administrators make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base, net
from isotherm.resources.openstack.table import Column, allowed, custom, name_column, since
from isotherm.resources.schema import BOOLEAN, LIST, STRING, AttributeSchema, Schema

TYPE_OF_NETWORK, PHYSICAL, SEGMENTATION_ID = "network_type", "physical_network", "segmentation_id"
_LOCAL, _FLAT, _VLAN = "local", "flat", "vlan"
_TUNNELS = ("vxlan", "gre", "geneve")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


class ProviderNet(base.NeutronResource):
    """A network of Neutron with the details of how it is carried."""

    TYPE = "OS::Neutron::ProviderNet"
    DESCRIPTION = "A virtual network that is a given network of the data centre, such as a VLAN."
    support = since("2014.1")
    table = base.table(
        "/networks", "network", finder=finders.network, states=base.STATES,
        columns={
            "name": name_column("The name of the network."),
            TYPE_OF_NETWORK: Column(
                schema=Schema(STRING, "The way in which the network is carried.", required=True, update_allowed=True,
                              constraints=allowed(_LOCAL, _VLAN, *_TUNNELS, _FLAT)), wire="provider:network_type"),
            PHYSICAL: Column(
                schema=Schema(STRING, "The name of the physical network, for flat networks and VLANs.",
                              update_allowed=True), wire="provider:physical_network", only_given=True),
            SEGMENTATION_ID: Column(
                schema=Schema(STRING, "The number of the VLAN or tunnel.", update_allowed=True),
                wire="provider:segmentation_id", from_wire=_text),
            "router_external": Column(
                schema=Schema(BOOLEAN, "Whether the network leads outside.", default=False, update_allowed=True,
                              support=since("6.0.0")), wire="router:external"),
            "shared": Column(schema=Schema(
                BOOLEAN, "Whether all projects may use the network.", default=True, update_allowed=True)),
            "admin_state_up": Column(schema=Schema(
                BOOLEAN, "Whether the network carries traffic.", default=True, update_allowed=True)),
            "port_security_enabled": Column(schema=Schema(
                BOOLEAN, "Whether ports of the network are protected unless they say otherwise.", update_allowed=True,
                support=since("8.0.0")), cleared=True, only_given=True),
            base.TAGS: Column(
                schema=Schema(LIST, "The tags of the network. An update replaces them all.", update_allowed=True,
                              schema=Schema(STRING, "A tag."), support=since("12.0.0"), normalise=sorted), is_sent=False),
            "dns_domain": Column(schema=Schema(
                STRING, "The DNS domain of the network.", update_allowed=True, constraints=custom("dns_domain"),
                support=since("15.0.0")), cleared=""),
            "availability_zone_hints": Column(schema=Schema(
                LIST, "The availability zones that the network should be in.", update_allowed=True,
                support=since("19.0.0"), normalise=sorted), cleared=[], only_given=True),
            "tenant_id": Column(schema=Schema(
                STRING, "The id of the project that owns the network.", support=since("24.0.0"))),
        },
        attributes={
            "status": AttributeSchema("The status of the network.", STRING),
            "subnets": AttributeSchema("The ids of the subnets of the network.", LIST),
            "segments": AttributeSchema("The segments of the network.", LIST, support=since("16.0.0")),
        },
    )

    async def attribute_in(self, name: str, found: Found) -> object:
        if name == "segments":
            return await net.segments(self.service, str(self.physical_id))
        return await super().attribute_in(name, found)

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the details that networks of this kind do not have."""
        kind = properties.get(TYPE_OF_NETWORK)
        if properties.get(SEGMENTATION_ID) and kind in (_LOCAL, _FLAT):
            yield f"{SEGMENTATION_ID} cannot be specified for a network of the type {kind}."
        if properties.get(PHYSICAL) and kind in (_LOCAL, *_TUNNELS):
            yield f"{PHYSICAL} cannot be specified for a network of the type {kind}."
