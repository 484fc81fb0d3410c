"""The block devices of a server, in both forms, as Nova takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.resources.openstack.nova import server_names as names
from isotherm.resources.openstack.table_object import Found

BOOT_INDEX, DELETED = "boot_index", "delete_on_termination"
# The properties that name the source of a device, with Nova's word for it.
_SOURCES = {"volume_id": "volume", "snapshot_id": "snapshot", "image": "image", "swap_size": "blank",
            "ephemeral_size": "blank", "ephemeral_format": "blank"}
_BOOTABLE = ("volume_id", "snapshot_id", "image")
_BOOT_DEVICE = "vda"


def body(properties: Mapping[str, Any]) -> Found:
    """Return the keys of the POST that describe the devices."""
    found: Found = {}
    if properties[names.DEVICES]:
        found[names.DEVICES] = [_present(one) for one in properties[names.DEVICES]]
    if properties[names.DEVICES_V2]:
        found[names.DEVICES_V2] = [_device(one) for one in properties[names.DEVICES_V2]]
        if properties[names.IMAGE]:
            # With devices of this form Nova wants the image among them.
            found[names.DEVICES_V2].insert(0, {
                "uuid": properties[names.IMAGE], "source_type": "image", "destination_type": "local", BOOT_INDEX: 0,
                DELETED: True})
    return found


def need_volume_type(properties: Mapping[str, Any]) -> bool:
    return any(one.get("volume_type") for one in properties[names.DEVICES_V2] or ())


def boots(properties: Mapping[str, Any]) -> bool:
    """Return whether the server has something to boot from."""
    return bool(properties[names.IMAGE]) or bool(
        _boot_devices(properties)) or any(one["device_name"] == _BOOT_DEVICE for one in properties[names.DEVICES] or ())


def problems(properties: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of the devices."""
    if properties.get(names.DEVICES) and properties.get(names.DEVICES_V2):
        yield f"Cannot define the following properties at the same time: {names.DEVICES}, {names.DEVICES_V2}."
    for one in properties.get(names.DEVICES) or ():
        if one.get("volume_id") and one.get("snapshot_id"):
            yield "Cannot define the following properties at the same time: volume_id, snapshot_id."
    for one in properties.get(names.DEVICES_V2) or ():
        given = [name for name in _SOURCES if one.get(name) is not None and name != "ephemeral_format"]
        if len(given) > 1:
            yield f"Cannot define the following properties at the same time: {', '.join(given)}."
    bootable = len(_boot_devices(properties)) + bool(properties.get(names.IMAGE))
    if bootable > 1:
        yield f"Multiple bootable sources for instance: {bootable} devices or images have {BOOT_INDEX} 0."


def _boot_devices(properties: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in properties.get(names.DEVICES_V2) or ()
            if one.get(BOOT_INDEX) in (None, 0) and any(one.get(name) for name in _BOOTABLE)]


def _present(one: Mapping[str, Any]) -> Found:
    return {name: value for name, value in one.items() if value is not None}


def _device(one: Mapping[str, Any]) -> Found:
    source = next((name for name in _SOURCES if one.get(name) is not None), "volume_id")
    is_local = _SOURCES[source] == "blank"
    found: Found = {"source_type": _SOURCES[source], "destination_type": "local" if is_local else "volume",
                    BOOT_INDEX: -1 if is_local else 0, DELETED: is_local}
    if not is_local:
        found["uuid"] = one[source]
    elif source == "swap_size":
        found |= {"guest_format": "swap", "volume_size": one[source]}
    else:
        found |= _present({"guest_format": one.get("ephemeral_format"), "volume_size": one.get("ephemeral_size")})
    return found | _present({name: one.get(name) for name in (
        "device_name", "device_type", "disk_bus", BOOT_INDEX, "volume_size", "volume_type", DELETED)})
