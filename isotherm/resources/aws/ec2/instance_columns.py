"""The properties and attributes of AWS::EC2::Instance, and the properties of OS::Nova::Server that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources import properties as typed
from isotherm.resources.openstack import finders
from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.nova.server_columns import COLUMNS
from isotherm.resources.openstack.table import allowed, custom
from isotherm.resources.schema import BOOLEAN, LIST, MAP, NUMBER, STRING, AttributeSchema, Schema
from isotherm.resources.translation import Kind, Rule

IMAGE, FLAVOR, KEY, ZONE = "ImageId", "InstanceType", "KeyName", "AvailabilityZone"
GROUPS, GROUP_IDS, TAGS, HINTS = "SecurityGroups", "SecurityGroupIds", "Tags", "NovaSchedulerHints"
INTERFACES, SUBNET, VOLUMES = "NetworkInterfaces", "SubnetId", "Volumes"
DEVICES, USER_DATA = "BlockDeviceMappings", "UserData"
INTERFACE_ID, DEVICE_INDEX = "NetworkInterfaceId", "DeviceIndex"
VOLUME, DEVICE, SNAPSHOT = "VolumeId", "Device", "SnapshotId"
# The property of the server that each changeable property changes.
CHANGES = {FLAVOR: names.FLAVOR, TAGS: names.METADATA, INTERFACES: names.NETWORKS, SUBNET: names.NETWORKS}

_SERVER = {name: column.schema for name, column in COLUMNS.items()}


def _pairs(description: str, item: str, **more: Any) -> Schema:
    return Schema(LIST, description, schema=Schema(MAP, item, schema={
        "Key": Schema(STRING, "The name.", required=True), "Value": Schema(STRING, "The value.", required=True)}), **more)


def _ignored(kind: Any = STRING, **more: Any) -> Schema:
    return Schema(kind, "Not implemented.", implemented=False, **more)


_EBS = Schema(MAP, "The volume of the device.", schema={
    "DeleteOnTermination": Schema(BOOLEAN, "Whether the volume is deleted with the server.", default=True),
    "Iops": _ignored(NUMBER),
    SNAPSHOT: Schema(STRING, "The snapshot that the volume is made of.", constraints=custom("cinder.snapshot")),
    "VolumeSize": Schema(STRING, "The size of the volume, in GB."),
    "VolumeType": _ignored(),
})

PROPERTIES: Mapping[str, Schema] = {
    IMAGE: Schema(STRING, "The image that the server boots from, by name or id.", required=True,
                  constraints=custom("glance.image")),
    FLAVOR: Schema(STRING, "The flavor of the server, by name or id.", required=True, update_allowed=True,
                   constraints=custom("nova.flavor")),
    KEY: Schema(STRING, "The name of the key pair whose public key the guest gets.", constraints=custom("nova.keypair")),
    ZONE: Schema(STRING, "The availability zone of the server."),
    "DisableApiTermination": _ignored(),
    "KernelId": _ignored(),
    "Monitoring": _ignored(BOOLEAN),
    "PlacementGroupName": _ignored(),
    "PrivateIpAddress": _ignored(),
    "RamDiskId": _ignored(),
    GROUPS: Schema(LIST, "The security groups of the server, by name or id."),
    GROUP_IDS: Schema(LIST, "Further security groups of the server, by id."),
    INTERFACES: Schema(LIST, "The interfaces of the server: ids of ports, or maps with NetworkInterfaceId and DeviceIndex.",
                       update_allowed=True),
    "SourceDestCheck": _ignored(BOOLEAN),
    SUBNET: Schema(STRING, "The id of the subnet in which the server gets an interface.", update_allowed=True),
    TAGS: _pairs("The metadata of the server in Nova.", "A tag.", update_allowed=True),
    HINTS: _pairs("Hints for the scheduler of Nova. A name that is given several times has all the values.", "A hint."),
    "Tenancy": _ignored(constraints=allowed("dedicated", "default")),
    USER_DATA: Schema(STRING, "The user data of the server, which is wrapped with what heat-cfntools needs."),
    VOLUMES: Schema(LIST, "Volumes that are attached to the server once it is active.", default=[], schema=Schema(
        MAP, "A volume.", schema={
            DEVICE: Schema(STRING, "The name of the device on the server, such as /dev/vdb.", required=True),
            VOLUME: Schema(STRING, "The id of the volume.", required=True, constraints=custom("cinder.volume"))})),
    DEVICES: Schema(LIST, "Devices of the server that are made of snapshots.", schema=Schema(MAP, "A device.", schema={
        "DeviceName": Schema(STRING, "The name of the device on the server, such as vdb.", required=True),
        "Ebs": _EBS, "NoDevice": _ignored(MAP), "VirtualName": _ignored()})),
}

ATTRIBUTES: Mapping[str, AttributeSchema] = {
    ZONE: AttributeSchema("The availability zone of the server.", STRING),
    "PrivateDnsName": AttributeSchema("The first address of the server.", STRING),
    "PublicDnsName": AttributeSchema("The first address of the server.", STRING),
    "PrivateIp": AttributeSchema("The first address of the server.", STRING),
    "PublicIp": AttributeSchema("The first address of the server.", STRING),
}

RULES = (Rule(Kind.RESOLVE, (IMAGE,), finder=finders.image), Rule(Kind.RESOLVE, (FLAVOR,), finder=finders.flavor),
         Rule(Kind.RESOLVE, (SUBNET,), finder=finders.subnet))


def server_properties(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of the server that these properties of an instance stand for, with all defaults."""
    return typed.convert(_SERVER, {name: value for name, value in _wanted(given).items() if value is not None})


def _wanted(given: Mapping[str, Any]) -> dict[str, Any]:
    hints: dict[str, list[str]] = {}
    for hint in given.get(HINTS) or ():
        hints.setdefault(hint["Key"], []).append(hint["Value"])
    return {
        names.IMAGE: given.get(IMAGE), names.FLAVOR: given.get(FLAVOR), names.KEY: given.get(KEY),
        "availability_zone": given.get(ZONE), names.FORMAT: names.CFNTOOLS, names.USER_DATA: given.get(USER_DATA),
        names.GROUPS: [*(given.get(GROUPS) or ()), *(given.get(GROUP_IDS) or ())] or None,
        names.METADATA: {tag["Key"]: tag["Value"] for tag in given.get(TAGS) or ()},
        names.HINTS: {name: many[0] if len(many) == 1 else many for name, many in hints.items()} or None,
        names.NETWORKS: _networks(given), names.DEVICES: [*map(_device, given.get(DEVICES) or ())] or None,
    }


def _networks(given: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the interfaces of the server; None if Nova chooses."""
    interfaces = given.get(INTERFACES) or ()
    numbered = [(number, one) if isinstance(one, str) else (int(one.get(DEVICE_INDEX, number)), one.get(INTERFACE_ID))
                for number, one in enumerate(interfaces)]
    if numbered:
        return [{names.PORT: port} for _, port in sorted(numbered, key=lambda one: one[0])]
    return [{names.SUBNET: given[SUBNET]}] if given.get(SUBNET) else None


def _device(one: Mapping[str, Any]) -> dict[str, Any]:
    volume = one.get("Ebs") or {}
    found = {"device_name": one["DeviceName"], "snapshot_id": volume.get(SNAPSHOT), "volume_size": volume.get("VolumeSize"),
             "delete_on_termination": volume.get("DeleteOnTermination")}
    return {name: value for name, value in found.items() if value is not None}


def problems(properties: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of the properties that the schema cannot express."""
    if properties.get(INTERFACES) and (properties.get(GROUPS) or properties.get(GROUP_IDS)):
        yield f"Cannot define the following properties at the same time: {GROUPS}/{GROUP_IDS}, {INTERFACES}."
    for one in properties.get(INTERFACES) or ():
        if not isinstance(one, str) and not _is_interface(one):
            yield f"Each of {INTERFACES} is the id of a port, or a map with {INTERFACE_ID} and the number {DEVICE_INDEX}."
    for one in properties.get(DEVICES) or ():
        if not (one.get("Ebs") or {}).get(SNAPSHOT):
            yield f"{SNAPSHOT} is missing, this is required when specifying {DEVICES}."


def _is_interface(one: Any) -> bool:
    return isinstance(one, Mapping) and bool(one.get(INTERFACE_ID)) and str(one.get(DEVICE_INDEX, 0)).isdecimal()
