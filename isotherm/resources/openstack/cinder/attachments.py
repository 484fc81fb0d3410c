"""Requests that attach volumes to servers: Nova carries them out, and Cinder shows them with the volume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm import errors
from isotherm.resources.openstack import faults, rest


def servers_of(volume: Mapping[str, Any]) -> list[str]:
    """Return the ids of the servers that have a volume."""
    return [str(one["server_id"]) for one in volume.get("attachments") or () if one.get("server_id")]


def device_of(volume: Mapping[str, Any], server: str) -> str | None:
    """Return the name of the device by which a server has a volume."""
    found = [one.get("device") for one in volume.get("attachments") or () if one.get("server_id") == server]
    return found[0] if found else None


async def is_attached(compute: rest.Service, server: str, volume: str) -> bool:
    """Return whether Nova knows of the attachment. It does from the request to attach until the detach is done."""
    return await compute.find(_path(server, volume)) is not None


async def attach(compute: rest.Service, server: str, volume: str, device: str | None = None) -> None:
    """Ask for an attachment. One that exists already is left as it is."""
    body = {"volumeId": volume, **({"device": device} if device else {})}
    try:
        await compute.post(_path(server), {"volumeAttachment": body})
    except (faults.Rejected, faults.InUse, faults.ServiceError):
        # An earlier request may have made it: then Nova refuses a second one.
        if not await is_attached(compute, server, volume):
            raise


async def detach(compute: rest.Service, server: str, volume: str) -> None:
    """Ask for a detach. Raises NoSuchObject if the server lacks the volume, and InUse if it is to be asked again."""
    try:
        await compute.delete(_path(server, volume))
    except faults.Rejected as error:
        if not await is_attached(compute, server, volume):
            raise faults.NoSuchObject(str(error)) from None
        # A rebuild detaches the volumes of its server, and attaches them again.
        raise faults.InUse(str(error)) if faults.OF_STATUS in str(error) else error from None


def attach_failed(server: str, volume: str) -> errors.Permanent:
    return errors.Permanent(f"The volume {volume} could not be attached to the server {server}: Nova gave up. The "
                            f"instance actions of the server may say why.")


def _path(server: str, volume: str | None = None) -> str:
    path = f"/servers/{rest.part(server)}/os-volume_attachments"
    return path if volume is None else f"{path}/{rest.part(volume)}"
