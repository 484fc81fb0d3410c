"""The properties and attributes of OS::Nova::Server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from isotherm.resources.openstack import finders
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.server_list_columns import DEVICES, DEVICES_V2, NETWORKS
from isotherm.resources.openstack.table import Column, allowed, custom, name_column, since
from isotherm.resources.schema import (
    BOOLEAN,
    CACHE_NONE,
    DEPRECATED,
    HIDDEN,
    LIST,
    MAP,
    STRING,
    AttributeSchema,
    Schema,
    Support,
)
from isotherm.resources.translation import Kind, Rule
from isotherm.template.parameters import constraints

_NOT_EMPTY = (constraints.Length(minimum=1),)


def metadata_text(value: Mapping[str, Any] | None) -> dict[str, str]:
    """Return metadata as Nova keeps it: each value is a text; others than texts and null are JSON."""
    return {name: one if isinstance(one, str) else "" if one is None else json.dumps(one)
            for name, one in (value or {}).items()}


def _groups(value: list[str]) -> list[dict[str, str]]:
    return [{"name": one} for one in value]


def _policy(description: str, default: str, *others: str, support: Support | None = None) -> Column:
    return Column(is_sent=False, schema=Schema(
        STRING, description, default=default, update_allowed=True, constraints=allowed(*others),
        support=support or Support(), observable=False))


COLUMNS: Mapping[str, Column] = {
    names.NAME: name_column("The name of the server."),
    names.IMAGE: Column(
        schema=Schema(STRING, "The image that the server boots from, by name or id.", update_allowed=True,
                      constraints=custom("glance.image")),
        wire="imageRef", finder=finders.image),
    names.DEVICES: DEVICES,
    names.DEVICES_V2: DEVICES_V2,
    names.FLAVOR: Column(
        schema=Schema(STRING, "The flavor of the server, by name or id.", required=True, update_allowed=True,
                      constraints=custom("nova.flavor")),
        wire="flavorRef", finder=finders.flavor),
    names.FLAVOR_POLICY: _policy(
        "The way in which another flavor is applied: RESIZE in place, or REPLACE the server.",
        names.RESIZE, names.RESIZE, names.REPLACE),
    names.IMAGE_POLICY: _policy(
        "The way in which another image is applied: REBUILD the server in place, with or without its ephemeral disk, or "
        "REPLACE it.", names.REBUILD, names.REBUILD, names.REPLACE, names.REBUILD_PRESERVE),
    names.KEY: Column(schema=Schema(
        STRING, "The name of the key pair whose public key the guest gets.", constraints=custom("nova.keypair"))),
    "admin_user": Column(is_sent=False, schema=Schema(
        STRING, "Passed over: the image decides on the user.",
        support=Support(HIDDEN, "5.0.0", "The image decides on the user.", Support(DEPRECATED, "2014.1")))),
    "availability_zone": Column(schema=Schema(STRING, "The availability zone of the server.")),
    names.GROUPS: Column(
        schema=Schema(LIST, "The security groups of interfaces that are created for the server, by name or id. Not "
                      "together with ports.", default=[]), to_wire=_groups),
    names.NETWORKS: NETWORKS,
    names.HINTS: Column(is_sent=False, schema=Schema(MAP, "Hints for the scheduler of Nova.")),
    names.METADATA: Column(
        schema=Schema(MAP, "The metadata of the server in Nova. Values other than texts are written as JSON.", default={},
                      update_allowed=True, normalise=metadata_text), to_wire=metadata_text),
    names.FORMAT: Column(is_sent=False, schema=Schema(
        STRING, "The form of the user data. RAW: as given. HEAT_CFNTOOLS: wrapped with what heat-cfntools needs. "
        "SOFTWARE_CONFIG: wrapped with what os-collect-config needs.", default=names.CFNTOOLS,
        constraints=allowed(names.CFNTOOLS, names.RAW, names.SOFTWARE_CONFIG))),
    names.TRANSPORT: Column(is_sent=False, schema=Schema(
        STRING, "The way in which the server learns which deployments to apply.", default="POLL_SERVER_CFN",
        update_allowed=True, observable=False,
        constraints=allowed("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE"))),
    names.USER_DATA_POLICY: _policy(
        "The way in which other user data is applied: REPLACE the server, REBUILD it in place, or IGNORE the change.",
        names.REPLACE, names.REPLACE, names.IGNORE, names.REBUILD, support=since("6.0.0")),
    names.USER_DATA: Column(is_sent=False, schema=Schema(
        STRING, "The user data of the server, or the id of a software config.", default="", update_allowed=True,
        observable=False)),
    names.RESERVATION: Column(is_sent=False, schema=Schema(STRING, "The reservation of hosts that the server uses.")),
    "config_drive": Column(schema=Schema(BOOLEAN, "Whether the guest reads its metadata from a drive.")),
    "diskConfig": Column(schema=Schema(
        STRING, "AUTO: the disk has one partition, of the size of the flavor. MANUAL: the disk is left as the image is.",
        constraints=allowed("AUTO", "MANUAL")), wire=names.DISK_CONFIG),
    names.PERSONALITY: Column(is_sent=False, schema=Schema(
        MAP, "Files that the guest gets: paths and contents.", default={},
        support=Support(DEPRECATED, "12.0.0", "Use user_data."))),
    names.ADMIN_PASS: Column(
        schema=Schema(STRING, "The password of the administrator of the guest.", update_allowed=True, write_only=True),
        wire="adminPass"),
    names.TAGS: Column(is_sent=False, schema=Schema(
        LIST, "The tags of the server.", update_allowed=True, schema=Schema(STRING, "A tag."), support=since("8.0.0"),
        normalise=sorted)),
    names.SWIFT: Column(is_sent=False, schema=Schema(
        MAP, "The place of the deployments in Swift, with POLL_TEMP_URL.", default={}, update_allowed=True,
        observable=False, support=since("9.0.0"), schema={
            "container": Schema(STRING, "The name of the container.", constraints=_NOT_EMPTY),
            "object": Schema(STRING, "The name of the object.", constraints=_NOT_EMPTY)})),
}

ATTRIBUTES: Mapping[str, AttributeSchema] = {
    "name": AttributeSchema("The name of the server.", STRING),
    "addresses": AttributeSchema(
        "The addresses of the server by network, with port, subnets and network of each.", MAP,
        support=Support(version="11.0.0", previous=Support())),
    "networks": AttributeSchema("The addresses of the server by network, as a list of texts.", MAP),
    "first_address": AttributeSchema(
        "The first address of the server.",
        support=Support(HIDDEN, "5.0.0", "Use the attribute networks.", Support(DEPRECATED, "2014.2"))),
    "instance_name": AttributeSchema("The name of the server at the hypervisor.", STRING),
    "accessIPv4": AttributeSchema("The address that the owner has named for access.", STRING,
                                  support=Support(DEPRECATED, "14.0.0", previous=since("2015.1"))),
    "accessIPv6": AttributeSchema("The IPv6 address that the owner has named for access.", STRING,
                                  support=Support(DEPRECATED, "14.0.0", previous=since("2015.1"))),
    "console_urls": AttributeSchema("The URLs of the consoles, by type.", MAP, support=since("2015.1")),
    "os_collect_config": AttributeSchema(
        "The configuration of the agent on the server that applies deployments.", MAP, CACHE_NONE, since("9.0.0")),
    "tags": AttributeSchema("The tags of the server.", LIST, support=since("8.0.0")),
}

# The finders of `image` and `flavor` are in their columns.
RULES: tuple[Rule, ...] = (
    Rule(Kind.REPLACE, (names.NETWORKS, names.NETWORK), ("uuid",)),
    Rule(Kind.REPLACE, (names.DEVICES_V2, names.IMAGE), ("image_id",)),
    Rule(Kind.RESOLVE, (names.NETWORKS, names.NETWORK), finder=finders.network),
    Rule(Kind.RESOLVE, (names.NETWORKS, names.SUBNET), finder=finders.subnet),
    Rule(Kind.RESOLVE, (names.NETWORKS, names.PORT), finder=finders.port),
    Rule(Kind.RESOLVE, (names.NETWORKS, names.FLOATING_IP), finder=finders.floating_ip),
    Rule(Kind.RESOLVE, (names.NETWORKS, names.EXTRA, "qos_policy"), finder=finders.qos_policy),
    Rule(Kind.RESOLVE, (names.DEVICES_V2, names.IMAGE), finder=finders.image),
    Rule(Kind.RESOLVE, (names.DEVICES_V2, "volume_type"), finder=finders.volume_type),
)
