"""The properties of OS::Nova::Server that are lists of maps: networks and block devices."""

from __future__ import annotations

from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.table import Column, allowed, at_least, custom, since
from isotherm.resources.schema import BOOLEAN, DEPRECATED, HIDDEN, INTEGER, LIST, MAP, STRING, Schema, Support

_PORT = Schema(MAP, "Further properties of the port that is created for the entry.", update_allowed=True,
               support=since("6.0.0"), schema={
    "value_specs": Schema(MAP, "Further keys of the request for the port.", default={}, update_allowed=True),
    "admin_state_up": Schema(BOOLEAN, "Whether the port carries traffic.", default=True, update_allowed=True),
    "mac_address": Schema(STRING, "The MAC address of the port.", constraints=custom("mac_addr")),
    "allowed_address_pairs": Schema(
        LIST, "Further addresses that the port may send from.", update_allowed=True, schema=Schema(MAP, "A pair.", schema={
            "mac_address": Schema(STRING, "The MAC address; the default is that of the port.",
                                  constraints=custom("mac_addr")),
            "ip_address": Schema(STRING, "The IP address or range.", required=True, constraints=custom("ip_or_cidr"))})),
    "binding:vnic_type": Schema(
        STRING, "The kind of the virtual network card.", default="normal", update_allowed=True, support=since("2015.1"),
        constraints=allowed("normal", "direct", "macvtap", "direct-physical", "baremetal", "virtio-forwarder",
                            "smart-nic")),
    "port_security_enabled": Schema(
        BOOLEAN, "Whether the port is protected by security groups and against spoofing.", update_allowed=True,
        support=since("5.0.0")),
    "qos_policy": Schema(STRING, "The QoS policy of the port, by name or id.", update_allowed=True,
                         constraints=custom("neutron.qos_policy"), support=since("6.0.0")),
    "propagate_uplink_status": Schema(
        BOOLEAN, "Whether the port shows the state of the uplink (with SR-IOV).", update_allowed=True,
        support=since("15.0.0")),
    "no_fixed_ips": Schema(BOOLEAN, "Whether the port is created without addresses.", default=False,
                           update_allowed=True, support=since("16.0.0")),
})

NETWORKS = Column(is_sent=False, schema=Schema(
    LIST, "The networks of the server, in the order of its interfaces. Changes are made in place by attaching and "
    "detaching interfaces.", update_allowed=True, schema=Schema(MAP, "An interface.", schema={
        "uuid": Schema(STRING, "The network, by name or id.", constraints=custom("neutron.network"),
                       support=Support(HIDDEN, "5.0.0", "Use property network.", Support(DEPRECATED, "2014.1"))),
        names.NETWORK: Schema(STRING, "The network, by name or id.", constraints=custom("neutron.network")),
        names.ALLOCATE: Schema(
            STRING, "auto: Nova chooses a network, or makes one. none: the server has no interface. The entry is then the "
            "only one.", update_allowed=True, constraints=allowed("none", "auto"), support=since("9.0.0")),
        names.FIXED_IP: Schema(STRING, "The address of the interface.", constraints=custom("ip_addr")),
        names.PORT: Schema(STRING, "The port, by name or id.", constraints=custom("neutron.port")),
        names.EXTRA: _PORT,
        names.SUBNET: Schema(STRING, "The subnet that the address is taken from, by name or id.", support=since("5.0.0")),
        names.FLOATING_IP: Schema(STRING, "The id of the floating ip that leads to the interface.", support=since("6.0.0")),
        names.NIC_TAG: Schema(STRING, "The tag of the interface, which the guest sees.", support=since("9.0.0")),
    })))

_VOLUME = Schema(STRING, "The id of the volume.", constraints=custom("cinder.volume"))
_SNAPSHOT = Schema(STRING, "The id of the snapshot that a volume is created of.", constraints=custom("cinder.snapshot"))
_SIZE = Schema(INTEGER, "The size of the volume, in GB.")
_DELETED = Schema(BOOLEAN, "Whether the device is deleted with the server.")

DEVICES = Column(is_sent=False, schema=Schema(
    LIST, "Volumes of the server, in the older form.", schema=Schema(MAP, "A volume.", schema={
        "device_name": Schema(STRING, "The name of the device: vda is the one to boot from.", required=True),
        "volume_id": _VOLUME, "snapshot_id": _SNAPSHOT, "volume_size": _SIZE, "delete_on_termination": _DELETED,
    })))

DEVICES_V2 = Column(is_sent=False, schema=Schema(
    LIST, "Block devices of the server.", support=since("2015.1"), schema=Schema(MAP, "A device.", schema={
        "device_name": Schema(STRING, "The name of the device. Most hypervisors choose it themselves."),
        "volume_id": _VOLUME,
        "image_id": Schema(STRING, "The image, by name or id.", constraints=custom("glance.image"),
                           support=Support(HIDDEN, "9.0.0", "Use property image.", Support(DEPRECATED, "7.0.0"))),
        "image": Schema(STRING, "The image that a volume is created of, by name or id.",
                        constraints=custom("glance.image"), support=since("7.0.0")),
        "snapshot_id": _SNAPSHOT,
        "swap_size": Schema(INTEGER, "The size of a swap device, in MB."),
        "ephemeral_size": Schema(INTEGER, "The size of a local device, in GB.", constraints=at_least(1),
                                 support=since("8.0.0")),
        "ephemeral_format": Schema(STRING, "The file system of a local device.", support=since("8.0.0"),
                                   constraints=allowed("ext2", "ext3", "ext4", "xfs", "ntfs")),
        "device_type": Schema(STRING, "The type of the device.", constraints=allowed("cdrom", "disk")),
        "disk_bus": Schema(STRING, "The bus that the device is on.",
                           constraints=allowed("ide", "lame_bus", "sata", "scsi", "usb", "virtio")),
        "boot_index": Schema(INTEGER, "The place in the order of boot devices: 0 is the first, -1 is none."),
        "volume_size": _SIZE,
        "volume_type": Schema(STRING, "The type of a volume that is created, by name or id.",
                              constraints=custom("cinder.vtype"), support=since("26.0.0")),
        "delete_on_termination": _DELETED,
    })))
