"""The table of OS::Neutron::Port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.neutron import base, lists
from isotherm.resources.openstack.table import Column, allowed, custom, name_column, since
from isotherm.resources.schema import (
    BOOLEAN,
    DEPRECATED,
    HIDDEN,
    LIST,
    MAP,
    STRING,
    AttributeSchema,
    Schema,
    Support,
)

NETWORK, NETWORK_ID, FIXED_IPS, NO_FIXED_IPS = "network", "network_id", "fixed_ips", "no_fixed_ips"
GROUPS, PAIRS, POLICY, SUBNETS = "security_groups", "allowed_address_pairs", "replacement_policy", "subnets"
_VNIC_TYPES = ("normal", "direct", "macvtap", "direct-physical", "baremetal", "virtio-forwarder", "smart-nic")


def _pairs(value: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return address pairs as Neutron takes them: without a MAC address, a pair has the port's own."""
    return [lists.without_nulls(pair) for pair in value]


_FIXED_IP = Schema(MAP, "A fixed address: its subnet, the address itself, or both.", schema={
    lists.SUBNET_ID: Schema(
        STRING, "The subnet, by name or id.", constraints=custom("neutron.subnet"),
        support=Support(HIDDEN, "5.0.0", "Use property subnet.", Support(DEPRECATED, "2014.2 "))),
    lists.SUBNET: Schema(
        STRING, "The subnet that the address is taken from, by name or id.", constraints=custom("neutron.subnet"),
        support=since("2014.2")),
    "ip_address": Schema(STRING, "The address.", constraints=custom("ip_addr")),
})
_PAIR = Schema(MAP, "A pair of addresses.", schema={
    "mac_address": Schema(STRING, "The MAC address; left out, that of the port.", constraints=custom("mac_addr")),
    "ip_address": Schema(STRING, "The address, or a range of addresses.", required=True,
                         constraints=custom("ip_or_cidr")),
})

PORT = base.table(
    "/ports", "port", finder=finders.port, states=base.STATES,
    columns={
        NETWORK_ID: Column(schema=Schema(
            STRING, "The network, by name or id.", constraints=custom("neutron.network"),
            support=Support(HIDDEN, "5.0.0", "Use property network.", Support(DEPRECATED, "2014.2"))), is_sent=False),
        NETWORK: Column(
            schema=Schema(STRING, "The network that the port is in, by name or id.", required=True,
                          constraints=custom("neutron.network"), support=since("2014.2")),
            wire=NETWORK_ID, finder=finders.network),
        # Nova takes a port for a server, and Neutron one for a router, by these two.
        "device_id": Column(schema=Schema(
            STRING, "The id of the server or router that uses the port.", default="", update_allowed=True, managed=True),
            cleared=""),
        "device_owner": Column(schema=Schema(
            STRING, "The service that uses the port.", default="", update_allowed=True, managed=True), cleared=""),
        "name": name_column("The name of the port."),
        base.VALUE_SPECS: base.VALUE_SPECS_COLUMN,
        "admin_state_up": Column(schema=Schema(
            BOOLEAN, "Whether the port carries traffic.", default=True, update_allowed=True)),
        FIXED_IPS: Column(schema=Schema(
            LIST, "The fixed addresses. Left out, Neutron chooses one of each kind of subnet.", update_allowed=True,
            schema=_FIXED_IP), is_sent=False),
        NO_FIXED_IPS: Column(schema=Schema(
            BOOLEAN, "Whether the port has no address.", default=False, update_allowed=True, support=since("16.0.0")),
            is_sent=False),
        "mac_address": Column(schema=Schema(
            STRING, "The MAC address. Left out, Neutron chooses one.", constraints=custom("mac_addr"))),
        GROUPS: Column(
            schema=Schema(LIST, "The security groups, by name or id. Left out, the group named default; an empty list "
                          "means none.", update_allowed=True, normalise=sorted), finder=finders.security_group),
        PAIRS: Column(schema=Schema(
            LIST, "Further addresses that may pass the port.", update_allowed=True, schema=_PAIR),
            to_wire=_pairs, cleared=[]),
        "binding:vnic_type": Column(schema=Schema(
            STRING, "The kind of the virtual network card.", default="normal", update_allowed=True,
            constraints=allowed(*_VNIC_TYPES), support=since("2015.1"))),
        "port_security_enabled": Column(schema=Schema(
            BOOLEAN, "Whether the port is protected by security groups and against false addresses. Left out, as the "
            "network says.", update_allowed=True, support=since("5.0.0")), cleared=True, only_given=True),
        "qos_policy": Column(
            schema=Schema(STRING, "The QoS policy of the port, by name or id.", update_allowed=True,
                          constraints=custom("neutron.qos_policy"), support=since("6.0.0")),
            wire="qos_policy_id", finder=finders.qos_policy),
        "dns_name": Column(schema=Schema(
            STRING, "The DNS name of the port.", update_allowed=True, constraints=custom("dns_name"),
            support=since("7.0.0")), cleared=""),
        POLICY: Column(schema=Schema(
            STRING, "Whether each update replaces the port (REPLACE_ALWAYS).", default="AUTO", update_allowed=True,
            constraints=allowed("REPLACE_ALWAYS", "AUTO"), observable=False,
            support=Support(HIDDEN, "9.0.0", "Replacement is decided by the changed properties.",
                            Support(DEPRECATED, "6.0.0"))), is_sent=False),
        base.TAGS: base.TAGS_COLUMN,
        "propagate_uplink_status": Column(schema=Schema(
            BOOLEAN, "Whether the state of the uplink is passed on to the port.", update_allowed=True,
            support=since("15.0.0")), only_given=True),
    },
    attributes={
        "admin_state_up": AttributeSchema("Whether the port carries traffic.", STRING),
        "device_id": AttributeSchema("The id of the server or router that uses the port.", STRING),
        "device_owner": AttributeSchema("The service that uses the port.", STRING),
        "fixed_ips": AttributeSchema("The fixed addresses, with the ids of their subnets.", LIST),
        "mac_address": AttributeSchema("The MAC address.", STRING),
        "name": AttributeSchema("The name of the port.", STRING),
        "network_id": AttributeSchema("The id of the network.", STRING),
        GROUPS: AttributeSchema("The ids of the security groups.", LIST),
        "status": AttributeSchema("The status of the port.", STRING),
        "tenant_id": AttributeSchema("The id of the project that owns the port.", STRING),
        PAIRS: AttributeSchema("Further addresses that may pass the port.", LIST),
        SUBNETS: AttributeSchema("The subnets of the port's addresses, with all their fields.", LIST),
        "port_security_enabled": AttributeSchema("Whether the port is protected.", BOOLEAN, support=since("5.0.0")),
        "qos_policy_id": AttributeSchema("The id of the QoS policy.", STRING, support=since("6.0.0")),
        "dns_assignment": AttributeSchema("The DNS names of the port's addresses.", MAP, support=since("7.0.0")),
        NETWORK: AttributeSchema("The network, with all its fields.", MAP, support=since("11.0.0")),
        "propagate_uplink_status": AttributeSchema(
            "Whether the state of the uplink is passed on to the port.", BOOLEAN, support=since("15.0.0")),
    },
)
