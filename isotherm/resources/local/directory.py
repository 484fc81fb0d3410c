"""Isotherm::Local::Directory: a folder on the machine of the engine."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.local import confinement, ownership
from isotherm.resources.local.claims import Claims
from isotherm.resources.local.confinement import Missing, Parts
from isotherm.resources.local.path_resource import MODE, OWNER, PATH, PathResource, local_port
from isotherm.resources.schema import BOOLEAN, CACHE_NONE, LIST, STRING, AttributeSchema, Schema

PURGE = "purge"
_FEW = 5


class Directory(PathResource):
    """A folder. Its content belongs to others, and only matters when the folder is deleted."""

    TYPE = "Isotherm::Local::Directory"
    DESCRIPTION = "A folder on the machine that the engine runs on, inside the base folder."
    noun = "folder"
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        PATH: Schema(
            STRING, "Where it is: relative to the base folder, or absolute and inside it. What is around it has to exist.",
            required=True, observable=False),
        MODE: ownership.mode("0755"),
        OWNER: ownership.OWNER,
        PURGE: Schema(
            BOOLEAN, "Whether all that is in it is deleted with it. If not, deleting it fails while it is not empty.",
            default=False, update_allowed=True, observable=False),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "path": AttributeSchema("The absolute path.", STRING),
        "entries": AttributeSchema("The names of what is in it now, sorted.", LIST, CACHE_NONE),
    }

    async def handle_create(self) -> object:
        parts = self.place()
        self._make(parts)
        self.physical_id = "/".join(parts)
        return None

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        self._make(self.place())
        return None

    async def handle_delete(self) -> object:
        if self.physical_id is None:
            return None
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            if self.is_ours(parts):
                local_port(self).check()
                await self._remove(parts)
                Claims(self.confined).release(parts)
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            found = self._status(parts)
        if found is None or not self.fits(found):
            return contract.Gone()
        return contract.Seen(*ownership.seen(found))

    async def attribute(self, name: str) -> object:
        parts = self.place()
        return self.confined.absolute(parts) if name == "path" else self._entries(parts)

    def fits(self, found: os.stat_result | None) -> bool:
        return confinement.is_folder(found)

    def _make(self, parts: Parts) -> None:
        path = "/".join(parts)
        with confinement.translated_errors(path):
            self.claim_place(parts)
            with self.confined.parent(parts) as folder:
                found = confinement.status(folder, parts[-1])
                if found is None:
                    os.mkdir(parts[-1], 0o700, dir_fd=folder)
                elif not self.fits(found):
                    raise errors.Permanent(f"{path} is there, and no folder")
            with self.confined.open(parts) as made:
                ownership.apply(made, self.properties[MODE], self.properties[OWNER])

    async def _remove(self, parts: Parts) -> None:
        try:
            with self.confined.parent(parts) as folder:
                if not self.fits(confinement.status(folder, parts[-1])):
                    return
                if self.properties.get(PURGE):
                    await asyncio.to_thread(shutil.rmtree, parts[-1], dir_fd=folder)
                    return
                left = self._entries(parts)
                if left:
                    shown = ", ".join(left[:_FEW]) + (", ..." if len(left) > _FEW else "")
                    raise errors.Permanent(f"{'/'.join(parts)} is not empty: {shown}")
                os.rmdir(parts[-1], dir_fd=folder)
        except (FileNotFoundError, Missing):
            return

    def _entries(self, parts: Parts) -> list[str]:
        try:
            with self.confined.open(parts) as folder:
                return sorted(os.listdir(folder))  # noqa: PTH208 - by descriptor
        except Missing:
            return []
