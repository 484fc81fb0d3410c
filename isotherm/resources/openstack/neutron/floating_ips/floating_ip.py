"""OS::Neutron::FloatingIP: an address of an external network that leads to a port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from isotherm.resources import contract
from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.neutron.floating_ips import reachability
from isotherm.resources.openstack.table import Column, custom, since
from isotherm.resources.schema import CACHE_NONE, DEPRECATED, HIDDEN, MAP, STRING, AttributeSchema, Schema, Support
from isotherm.resources.translation import Kind, Rule

NETWORK, NETWORK_ID, SUBNET = "floating_network", "floating_network_id", "floating_subnet"
PORT, FIXED_ADDRESS, ADDRESS = "port_id", "fixed_ip_address", "floating_ip_address"


class FloatingIP(base.NeutronResource):
    """A floating IP of Neutron. It is not waited for: its status is DOWN until a port uses it."""

    TYPE = "OS::Neutron::FloatingIP"
    DESCRIPTION = "An address of an external network that leads to a port."
    translation_rules = (Rule(Kind.REPLACE, (NETWORK,), (NETWORK_ID,)),)
    table = base.table(
        "/floatingips", "floatingip", finder=finders.floating_ip,
        columns={
            NETWORK_ID: Column(schema=Schema(
                STRING, "The external network, by name or id.", constraints=custom("neutron.network"), support=Support(
                    HIDDEN, "5.0.0", f"Use property {NETWORK}.", Support(DEPRECATED, "2014.2"))), is_sent=False),
            NETWORK: Column(
                schema=Schema(STRING, "The external network that the address is taken from, by name or id.",
                              required=True, constraints=custom("neutron.network"), support=since("2014.2")),
                wire=NETWORK_ID, finder=finders.network),
            SUBNET: Column(
                schema=Schema(STRING, "The subnet of the external network, by name or id.",
                              constraints=custom("neutron.subnet"), support=since("9.0.0")),
                wire="subnet_id", finder=finders.subnet),
            base.VALUE_SPECS: Column(schema=Schema(
                MAP, "Further keys of the request, such as those of an extension. Keys that are properties are refused.",
                default={}), is_sent=False),
            PORT: Column(
                schema=Schema(STRING, "The port that the address leads to, by name or id.", update_allowed=True,
                              constraints=custom("neutron.port")), finder=finders.port),
            FIXED_ADDRESS: Column(schema=Schema(
                STRING, "The address of the port, where it has several.", update_allowed=True,
                constraints=custom("ip_addr"))),
            ADDRESS: Column(schema=Schema(
                STRING, "The floating address. Left out, Neutron chooses one.", constraints=custom("ip_addr"),
                support=since("5.0.0"))),
            "dns_name": Column(schema=Schema(
                STRING, "The DNS name of the address.", update_allowed=True, constraints=custom("rel_dns_name"),
                support=since("7.0.0")), cleared="", only_given=True),
            "dns_domain": Column(schema=Schema(
                STRING, "The DNS domain of the address.", update_allowed=True, constraints=custom("dns_domain"),
                support=since("7.0.0")), cleared="", only_given=True),
        },
        attributes={
            "router_id": AttributeSchema("The id of the router between the external network and the port.", STRING),
            "tenant_id": AttributeSchema("The id of the project that owns the address.", STRING),
            NETWORK_ID: AttributeSchema("The id of the external network.", STRING),
            FIXED_ADDRESS: AttributeSchema("The address of the port.", STRING, CACHE_NONE),
            ADDRESS: AttributeSchema("The floating address.", STRING),
            PORT: AttributeSchema("The id of the port that the address leads to.", STRING, CACHE_NONE),
        },
    )

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        body = super().update_body(before, changed)
        if changed.keys() & {PORT, FIXED_ADDRESS}:
            # Neutron takes the two together only.
            body.update({PORT: self.properties[PORT], FIXED_ADDRESS: self.properties[FIXED_ADDRESS]})
        return body

    @classmethod
    def implied_requirements(cls, properties: Mapping[str, Any], others: contract.Neighbours) -> Iterable[str]:
        """Return the gateways to the external network, and the interfaces that connect the port with a router."""
        network = base.given(properties, NETWORK, NETWORK_ID)
        yield from reachability.gateways_to(network, others)
        port = contract.referenced(properties.get(PORT))
        if port is not None:
            yield from reachability.interfaces_for(port, others)

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        if properties.get(FIXED_ADDRESS) and not properties.get(PORT):
            yield f"{FIXED_ADDRESS} cannot be specified without {PORT}."
