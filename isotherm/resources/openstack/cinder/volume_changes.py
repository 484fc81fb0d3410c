"""Changes of a volume by actions of Cinder: extend, restore a backup, change the type, make it read-only.

A change that Cinder makes to an available volume only is made in steps: the volume is detached from its servers, changed,
and attached again. The servers are stored before the first detach, so that a crash in between costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from isotherm import errors
from isotherm.resources import cloud_lookups, contract
from isotherm.resources.openstack import faults, finders, rest
from isotherm.resources.openstack.cinder import attachments, backups
from isotherm.resources.openstack.cinder.volume_table import (
    BACKUP,
    DESCRIPTION,
    METADATA,
    NAME,
    READ_ONLY,
    SIZE,
    VOLUME_TYPE,
    texts,
)
from isotherm.resources.openstack.driver import Found, TableResource

# In this order: a backup may need the larger size, and a volume that can only be read is changed last.
_ACTIONS = (SIZE, BACKUP, VOLUME_TYPE, READ_ONLY)
_ONLY_AVAILABLE = (BACKUP, READ_ONLY)
# Keys of the progress: the changes that are left, the one that was asked for, the servers that get the volume back.
_LEFT, _ASKED, _DETACHED, _OFFLINE, _ATTACHED = "left", "asked", "detached", "offline", "attached"


class ChangedVolume(TableResource):
    """A volume, and the actions that change it."""

    @property
    def compute(self) -> rest.Service:
        return self.other_service("compute", finders.COMPUTE)

    # Update.

    def update_body(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> Found:
        # Cinder changes the rest by actions; and the request that takes these two removes no key of the metadata.
        return super().update_body(before, {name: one for name, one in changed.items() if name in (NAME, DESCRIPTION)})

    async def apply(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if METADATA in changed:
            await self._put_metadata()
        return {_LEFT: [name for name in _ACTIONS if name in changed and self._is_wanted(name)]}

    def _is_wanted(self, name: str) -> bool:
        """Return whether a property has a value to be set. Without one only `read_only` changes: back to its default."""
        return name == READ_ONLY or self.properties[name] is not None

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        waits = await super().check_update_complete(None)
        return await self.go_on(dict(progress or {})) if waits is True else waits

    # The actions, one after the other. They are a part of a creation, too.

    async def go_on(self, progress: Found) -> bool | contract.Wait:
        """Go one step on with the changes of a volume that is available or in use."""
        found = await self.show()
        if found is None:
            raise errors.Permanent(f"{self.physical_id} does not exist")
        left = list(progress.get(_LEFT) or ())
        while left and await self._is_done(left[0], found, progress):
            del left[0]
            progress = {**progress, _LEFT: left, _ASKED: ""}
        if not left:
            return await self._attach_again(found, progress)
        if progress.get(_ASKED) == left[0]:
            raise errors.Permanent(f"Cinder accepted the change of the property {left[0]} and did not make it")
        is_offline = left[0] in _ONLY_AVAILABLE or bool(progress.get(_OFFLINE))
        if is_offline and attachments.servers_of(found):
            return await self._detach(found, progress)
        return contract.Wait(reason=f"{left[0]} is changed", progress=await self._change(left[0], found, progress))

    async def _is_done(self, name: str, found: Found, progress: Found) -> bool:
        if name == SIZE:
            if int(found["size"]) > self.properties[SIZE]:
                raise errors.Permanent("Shrinking volume is not supported.")
            return int(found["size"]) == int(self.properties[SIZE])
        if name == VOLUME_TYPE:
            return bool(await self.type_id(found) == self.properties[VOLUME_TYPE])
        if name == READ_ONLY:
            return is_read_only(found) == bool(self.properties[READ_ONLY])
        is_restored = bool(progress.get(_ASKED) == BACKUP)
        if is_restored:
            await self._after_restore()
        return is_restored

    async def _change(self, name: str, found: Found, progress: Found) -> Found:
        """Ask for one change; return the progress."""
        try:
            await self._ask(name)
        except (faults.Rejected, faults.InUse):
            # Not every backend changes a volume that is in use.
            if progress.get(_OFFLINE) or not attachments.servers_of(found):
                raise
            return {**progress, _OFFLINE: True}
        return {**progress, _ASKED: name}

    async def _ask(self, name: str) -> None:
        value = self.properties[name]
        if name == BACKUP:
            await backups.restore(self.service, value, str(self.physical_id))
            return
        action: Found = {
            SIZE: {"os-extend": {"new_size": value}},
            VOLUME_TYPE: {"os-retype": {"new_type": value, "migration_policy": "never"}},
            READ_ONLY: {"os-update_readonly_flag": {"readonly": bool(value)}},
        }[name]
        await self.service.post(f"{self.path}/action", action)

    async def _after_restore(self) -> None:
        """Write again what a restore has overwritten with the values of the volume that was backed up."""
        name = self.properties[NAME] or self.default_name
        await self.service.put(self.path, {"volume": {NAME: name, DESCRIPTION: self.properties[DESCRIPTION] or ""}})
        await self._put_metadata()

    async def _put_metadata(self) -> None:
        """Replace the metadata; the token stays."""
        body: Found = {METADATA: texts(self.properties[METADATA])}
        self.put_token(body)
        await self.service.put(f"{self.path}/metadata", body)

    async def type_id(self, found: Found) -> object:
        """Return the id of the volume's type, which Cinder shows by its name."""
        question = cloud_lookups.Question(finders.volume_type, found[VOLUME_TYPE])
        now = self.context.clock.now()
        answer = (await self.context.lookups.answer(self.context.cloud, [question], now))[question]
        return found[VOLUME_TYPE] if answer.error else answer.value

    # Servers.

    async def _detach(self, found: Found, progress: Found) -> contract.Wait:
        """Detach the volume from its servers, once these are stored."""
        known: dict[str, Any] = progress.get(_DETACHED) or {}
        servers = attachments.servers_of(found)
        if not {*servers} <= known.keys():
            devices = {server: attachments.device_of(found, server) for server in servers}
            return contract.Wait(0.0, "it is detached to be changed", {**progress, _DETACHED: {**devices, **known}})
        for server in servers:
            with suppress(faults.NoSuchObject, faults.InUse):
                await attachments.detach(self.compute, server, str(self.physical_id))
        return contract.Wait(reason="it is detached to be changed", progress=progress)

    async def _attach_again(self, found: Found, progress: Found) -> bool | contract.Wait:
        """Attach the volume to the servers that it was detached from."""
        present, asked, volume = attachments.servers_of(found), list(progress.get(_ATTACHED) or ()), str(self.physical_id)
        for server, device in (progress.get(_DETACHED) or {}).items():
            if server in present:
                continue
            if server not in asked:
                with suppress(faults.NoSuchObject):  # the server is gone
                    await attachments.attach(self.compute, server, volume, device)
                progress = {**progress, _ATTACHED: [*asked, server]}
                return contract.Wait(reason="it is attached again", progress=progress)
            if await attachments.is_attached(self.compute, server, volume):
                return contract.Wait(reason="it is attached again", progress=progress)
            if await self.compute.find(f"/servers/{rest.part(server)}") is not None:
                raise attachments.attach_failed(server, volume)
        return True


def is_read_only(found: Found) -> bool:
    """Return whether a volume can only be read. Cinder shows that as a text among the metadata."""
    return str((found.get(METADATA) or {}).get("readonly", "")).lower() == "true"
