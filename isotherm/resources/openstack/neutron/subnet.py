"""OS::Neutron::Subnet: a range of addresses of a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.neutron import base
from isotherm.resources.openstack.table import Column, allowed, at_least, custom, name_column, since
from isotherm.resources.schema import (
    BOOLEAN,
    DEPRECATED,
    HIDDEN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AttributeSchema,
    Schema,
    Support,
)
from isotherm.resources.translation import Kind, Rule

CIDR, POOL, PREFIX, NETWORK, NETWORK_ID = "cidr", "subnetpool", "prefixlen", "network", "network_id"
VERSION, RA_MODE, ADDRESS_MODE = "ip_version", "ipv6_ra_mode", "ipv6_address_mode"
GATEWAY, SEGMENT = "gateway_ip", "segment"
_MODES = ("dhcpv6-stateful", "dhcpv6-stateless", "slaac")


def _gateway(value: Any) -> Any:
    """Return the gateway as Neutron takes it: an empty text means that there is none."""
    return value or None


class Subnet(base.NeutronResource):
    """A subnet of Neutron."""

    TYPE = "OS::Neutron::Subnet"
    DESCRIPTION = "A range of addresses of a network, with its gateway, name servers and routes."
    translation_rules = (Rule(Kind.REPLACE, (NETWORK,), (NETWORK_ID,)),)
    table = base.table(
        "/subnets", "subnet", finder=finders.subnet,
        columns={
            NETWORK_ID: Column(schema=Schema(
                STRING, "The network, by name or id.", constraints=custom("neutron.network"),
                support=Support(HIDDEN, "5.0.0", "Use property network.", Support(DEPRECATED, "2014.2"))), is_sent=False),
            NETWORK: Column(
                schema=Schema(STRING, "The network that the subnet is in, by name or id.", required=True,
                              constraints=custom("neutron.network"), support=since("2014.2")),
                wire="network_id", finder=finders.network),
            POOL: Column(
                schema=Schema(STRING, "The subnet pool that the addresses are taken from, by name or id.",
                              constraints=custom("neutron.subnetpool"), support=since("6.0.0")),
                wire="subnetpool_id", finder=finders.subnetpool),
            PREFIX: Column(schema=Schema(
                INTEGER, "The length of the prefix that is taken from the pool.", constraints=at_least(0),
                support=since("6.0.0"))),
            CIDR: Column(schema=Schema(STRING, "The range of addresses.", constraints=custom("net_cidr"))),
            base.VALUE_SPECS: base.VALUE_SPECS_COLUMN,
            "name": name_column("The name of the subnet."),
            VERSION: Column(schema=Schema(INTEGER, "The version of IP.", default=4, constraints=allowed(4, 6))),
            "dns_nameservers": Column(schema=Schema(
                LIST, "The addresses of the name servers.", default=[], update_allowed=True), cleared=[]),
            GATEWAY: Column(schema=Schema(
                STRING, "The address of the gateway. An empty text means none; left out, Neutron chooses one.",
                update_allowed=True, normalise=_gateway), to_wire=_gateway, only_given=True),
            "enable_dhcp": Column(schema=Schema(
                BOOLEAN, "Whether DHCP serves the subnet.", default=True, update_allowed=True)),
            "allocation_pools": Column(
                schema=Schema(LIST, "The ranges that addresses are given out of.", update_allowed=True, schema=Schema(
                    MAP, "A range.", schema={
                        "start": Schema(STRING, "The first address.", required=True, constraints=custom("ip_addr")),
                        "end": Schema(STRING, "The last address.", required=True, constraints=custom("ip_addr"))})),
                cleared=[], only_given=True),
            "tenant_id": Column(schema=Schema(
                STRING, "The id of the project that owns the subnet. Only administrators may set it.")),
            "host_routes": Column(
                schema=Schema(LIST, "Routes that hosts of the subnet learn.", update_allowed=True, schema=Schema(
                    MAP, "A route.", schema={
                        "destination": Schema(STRING, "The destination.", required=True, constraints=custom("net_cidr")),
                        "nexthop": Schema(STRING, "The next hop.", required=True, constraints=custom("ip_addr"))})),
                cleared=[]),
            RA_MODE: Column(schema=Schema(
                STRING, "The mode of router advertisements of IPv6.", constraints=allowed(*_MODES),
                support=since("2015.1"))),
            ADDRESS_MODE: Column(schema=Schema(
                STRING, "The way in which IPv6 addresses are assigned.", constraints=allowed(*_MODES),
                support=since("2015.1"))),
            SEGMENT: Column(
                schema=Schema(STRING, "The segment that the subnet is in, by name or id.", update_allowed=True,
                              constraints=custom("neutron.segment"),
                              support=Support(version="11.0.0", previous=since("9.0.0"))),
                wire="segment_id", finder=finders.segment, only_given=True),
            base.TAGS: base.TAGS_COLUMN,
        },
        attributes={
            "name": AttributeSchema("The name of the subnet.", STRING),
            "network_id": AttributeSchema("The id of the network.", STRING),
            "tenant_id": AttributeSchema("The id of the project that owns the subnet.", STRING),
            "allocation_pools": AttributeSchema("The ranges that addresses are given out of.", LIST),
            "gateway_ip": AttributeSchema("The address of the gateway.", STRING),
            "host_routes": AttributeSchema("Routes that hosts of the subnet learn.", LIST),
            "ip_version": AttributeSchema("The version of IP.", STRING),
            "cidr": AttributeSchema("The range of addresses.", STRING),
            "dns_nameservers": AttributeSchema("The addresses of the name servers.", LIST),
            "enable_dhcp": AttributeSchema("Whether DHCP serves the subnet.", STRING),
        },
    )

    def create_body(self) -> Found:
        body = super().create_body()
        # An empty gateway is sent as null: there is to be none. Without the property Neutron chooses one.
        if self.properties[GATEWAY] == "":
            body[GATEWAY] = None
        return body

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any], changed: Mapping[str, Any]) -> str | None:
        return SEGMENT if SEGMENT in changed and before.get(SEGMENT) is not None else None

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        yield from super().validate_properties(properties)
        cidr, pool = properties.get(CIDR), properties.get(POOL)
        if cidr and pool:
            yield f"Cannot define the following properties at the same time: {CIDR}, {POOL}."
        if not cidr and not pool:
            yield f"At least one of the following properties must be specified: {CIDR}, {POOL}."
        if properties.get(PREFIX) and not pool:
            yield f"{PREFIX} needs {POOL}."
        modes = {properties.get(RA_MODE), properties.get(ADDRESS_MODE)} - {None}
        if len(modes) > 1:
            yield f"When both {RA_MODE} and {ADDRESS_MODE} are set, they must be equal."
        if modes and properties.get(VERSION) == 4:
            yield f"{RA_MODE} and {ADDRESS_MODE} are not supported with {VERSION} 4."
