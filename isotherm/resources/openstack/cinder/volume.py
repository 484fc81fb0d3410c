"""OS::Cinder::Volume: a volume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from isotherm.resources import contract
from isotherm.resources.openstack import finders
from isotherm.resources.openstack.cinder import backups, base
from isotherm.resources.openstack.cinder.volume_changes import ChangedVolume, is_read_only
from isotherm.resources.openstack.cinder.volume_table import (
    ATTRIBUTES,
    BACKUP,
    COLUMNS,
    HINTS,
    IMAGE,
    IMAGE_REF,
    METADATA,
    READ_ONLY,
    SIZE,
    SNAPSHOT,
    SOURCE,
    VOLUME_TYPE,
)
from isotherm.resources.openstack.driver import Found
from isotherm.resources.openstack.table import States, TokenPlace
from isotherm.resources.openstack.table_object import POLL

_TOKEN_KEY = "isotherm"
# Cinder shows facts of its own among the metadata.
_OWN_KEYS = frozenset({_TOKEN_KEY, "readonly", "attached_mode"})
_STATES = States(
    ready=frozenset({"available", "in-use"}),
    waiting=frozenset({"creating", "downloading", "restoring-backup", "extending", "retyping", "detaching", "attaching",
                       "reserved", "backing-up", "uploading", "maintenance", "deleting"}),
    failed=frozenset({"error", "error_deleting", "error_extending", "error_restoring", "error_backing-up",
                      "error_managing"}))
_NAME_CHARS = 220


class Volume(ChangedVolume):
    """A volume of Cinder. The token is among its metadata."""

    TYPE = "OS::Cinder::Volume"
    DESCRIPTION = "A disk that can be attached to servers, and that outlives them."
    traits = contract.Traits(poll=POLL, failed_is_observed=True,
                             supports_snapshot_delete=True)
    table = base.table(
        "/volumes", "volume", finder=finders.volume, list_path="/volumes/detail", states=_STATES, columns=COLUMNS,
        attributes=ATTRIBUTES, token=TokenPlace(field=METADATA, key=_TOKEN_KEY, query=METADATA))
    # The size of the backup that is restored, if the template gives no size.
    _source_gb: int | None = None
    _hints: Found | None = None

    def token_query(self, place: TokenPlace) -> dict[str, str]:
        return {METADATA: str({_TOKEN_KEY: self.token_text})}

    # Create. A backup is restored to a volume that was created with the token: a restore cannot give it one.

    async def handle_create(self) -> object:
        if self.properties[BACKUP] and self.properties[SIZE] is None:
            self._source_gb = await backups.size_of(self.service, self.properties[BACKUP])
        self._hints = await self.context.servers.hints(self)
        return await super().handle_create()

    def create_request(self) -> Found:
        hints = {**(self.properties[HINTS] or {}), **(self._hints or {})}
        return {**super().create_request(), **({"OS-SCH-HNT:scheduler_hints": hints} if hints else {})}

    def create_body(self) -> Found:
        body, size = super().create_body(), self.properties[SIZE] or self._source_gb
        if size is not None:
            body[SIZE] = size
        if self.properties[IMAGE_REF]:
            body["imageRef"] = self.properties[IMAGE_REF]
        return body

    @property
    def is_made_by_post(self) -> bool:
        return True

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        known = dict(progress or {})
        waits = await super().check_create_complete(progress)
        if isinstance(waits, contract.Wait):
            return replace(waits, progress={**known, **waits.progress}) if isinstance(waits.progress, dict) else waits
        left = [name for name in (BACKUP, READ_ONLY) if self.properties[name]]
        if not left:
            return True
        self.shown_last = None
        return await self.go_on({"finished": True, "left": left, **known})

    # Delete, with a backup first if the deletion policy asks for it.

    async def handle_delete(self) -> object:
        if self.snapshot_on_delete and self.physical_id is not None:
            found = await self.show()
            # A volume that never came up, or that is broken, has nothing to be kept.
            if found is not None and found["status"] in _STATES.ready:
                return {"name": self._backup_name()}
        return await super().handle_delete()

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        if progress is None or "name" not in progress:
            return await super().check_delete_complete(progress)
        waits = await backups.make(self.service, str(self.physical_id), dict(progress))
        if waits is not None:
            return waits
        return contract.Wait(0.0, "it is backed up, and is deleted", {"since": self.context.clock.now()})

    # Snapshots of the stack.

    async def handle_snapshot(self) -> object:
        return {"name": self._backup_name()}

    def _backup_name(self) -> str:
        """Return a name that no other backup has: an older backup of the volume must not be taken for a new one."""
        return f"{self.physical_name[:_NAME_CHARS]}-{self.context.random.getrandbits(48):012x}"

    async def check_snapshot_complete(self, progress: Any) -> bool | contract.Wait:
        waits = await backups.make(self.service, str(self.physical_id), dict(progress))
        return True if waits is None else waits

    async def handle_delete_snapshot(self, data: Any) -> None:
        if (data or {}).get("backup_id"):
            await backups.delete(self.service, data["backup_id"])

    @classmethod
    def restored_properties(cls, properties: Mapping[str, Any], data: Any) -> Mapping[str, Any]:
        backup = (data or {}).get("backup_id")
        return {**properties, BACKUP: backup} if backup else properties

    # Reality.

    async def completed(self, found: Found | None) -> contract.LiveState:
        if found is not None and found.get(VOLUME_TYPE) and self.properties[VOLUME_TYPE]:
            found = {**found, VOLUME_TYPE: await self.type_id(found)}
        return self.gone_or_seen(found)

    def live(self, found: Found) -> Found:
        return {**super().live(found), SIZE: found[SIZE], READ_ONLY: is_read_only(found),
                METADATA: self._metadata(found)}

    def _metadata(self, found: Found) -> Found:
        """Return the metadata without the keys that are not of the template."""
        wanted = self.properties[METADATA] or {}
        return {name: value for name, value in (found.get(METADATA) or {}).items()
                if name in wanted or name not in _OWN_KEYS}

    async def attribute_in(self, name: str, found: Found) -> object:
        metadata = self.without_token(found).get(METADATA)
        if name == METADATA:
            return msgspec.json.encode(metadata).decode()
        if name == "metadata_values":
            return metadata
        if name == "attachments_list":
            return found["attachments"]
        value = await super().attribute_in(name.removeprefix("display_"), found)
        return value if name in ("show", "multiattach") or value is None else str(value)

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        """Yield the problem of a volume with too many sources, or with neither a size nor a source."""
        if properties.get(IMAGE) and properties.get(IMAGE_REF):
            yield f"Cannot define the following properties at the same time: {IMAGE}, {IMAGE_REF}."
        if properties.get(BACKUP):
            return
        has_size = properties.get(SIZE) is not None
        options = (IMAGE, IMAGE_REF, SOURCE, SNAPSHOT) if has_size else (SOURCE, SNAPSHOT)
        given, names = [name for name in options if properties.get(name)], ", ".join(f'"{name}"' for name in options)
        if has_size and len(given) > 1:
            yield (f'If "{SIZE}" is provided, only one of {names} can be specified, but currently specified options: '
                   f"{given}.")
        if not has_size and len(given) != 1:
            yield (f'If neither "{BACKUP}" nor "{SIZE}" is provided, one and only one of {names} must be specified, but '
                   f"currently specified options: {given}.")
