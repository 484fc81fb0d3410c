"""Backups of volumes: they are the snapshots of OS::Cinder::Volume."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.openstack import faults, rest

_WAITING = frozenset({"creating", "backing-up"})


async def make(cinder: rest.Service, volume: str, progress: dict[str, Any]) -> contract.Wait | None:
    """Go one step on in the creation of the backup `progress["name"]`; return None when `progress["backup_id"]` is ready.

    The name is unique and is stored before the first request: so a backup whose answer was lost is found by it.
    """
    if "stored" not in progress:
        return contract.Wait(0.0, "the volume is backed up", {**progress, "stored": True})
    if "backup_id" not in progress:
        found = await _named(cinder, volume, progress["name"])
        progress["backup_id"] = found[0]["id"] if found else await _begin(cinder, volume, progress["name"])
        return contract.Wait(reason="the volume is backed up", progress=progress)
    backup = await cinder.find(f"/backups/{rest.part(progress['backup_id'])}")
    if backup is None:
        raise errors.Permanent(f"The backup {progress['backup_id']} of the volume {volume} does not exist any more")
    status, reason = backup["backup"]["status"], backup["backup"].get("fail_reason")
    if status in _WAITING:
        return contract.Wait(reason="the volume is backed up", progress=progress)
    if status != "available":
        raise errors.Permanent(f"The backup of the volume {volume} went to status {status}: {reason or 'no reason given'}")
    for double in await _named(cinder, volume, progress["name"]):
        if double["id"] != progress["backup_id"]:
            await delete(cinder, double["id"])
    return None


async def restore(cinder: rest.Service, backup: str, volume: str) -> None:
    """Ask for a backup to be restored to a volume."""
    await cinder.post(f"/backups/{rest.part(backup)}/restore", {"restore": {"volume_id": volume}})


async def size_of(cinder: rest.Service, backup: str) -> int:
    """Return the size of the volume that a backup was made of, in GB."""
    answer = await cinder.get(f"/backups/{rest.part(backup)}")
    return int(answer["backup"]["size"])


async def delete(cinder: rest.Service, backup: str) -> None:
    """Delete a backup; one that is gone is fine."""
    with suppress(faults.NoSuchObject):
        await cinder.delete(f"/backups/{rest.part(backup)}")


async def _begin(cinder: rest.Service, volume: str, name: str) -> str:
    answer = await cinder.post("/backups", {"backup": {"volume_id": volume, "name": name, "force": True}})
    return str(answer["backup"]["id"])


async def _named(cinder: rest.Service, volume: str, name: str) -> list[dict[str, Any]]:
    """Return the backups of a volume that have this name, the oldest first, without those that failed."""
    found = await cinder.pages("/backups/detail", "backups", {"name": name})
    ours = [one for one in found if (one["volume_id"], one["name"]) == (volume, name) and one["status"] != "error"]
    return sorted(ours, key=lambda one: str(one["created_at"]))
