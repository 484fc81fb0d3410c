"""Isotherm::Local::File: a file on the machine of the engine."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.local import confinement, ownership
from isotherm.resources.local.claims import Claims
from isotherm.resources.local.confinement import Missing, Parts
from isotherm.resources.local.path_resource import MODE, OWNER, PATH, PathResource, local_port
from isotherm.resources.schema import CACHE_NONE, INTEGER, STRING, AttributeSchema, Schema

CONTENT = "content"
# Larger files are compared and shown by their hash.
_SHOWN_BYTES = 64 * 1024
# Size up to which a file is read or written at once without blocking others; larger ones are read in pieces of it.
_QUICK_BYTES = 1024 * 1024
# Beyond this, a file is not read at all: no template can have written it.
_READ_BYTES = 256 * 1024 * 1024
_DRAFTS = "drafts"


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of a file."""

    status: os.stat_result
    size: int
    # Nothing if the file is too big to be read.
    sha256: str | None
    # The text that is compared and shown.
    summary: str


def _summary(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return text if len(data) <= _SHOWN_BYTES else _hashed(hashlib.sha256(data).hexdigest(), len(data))


def _content(status: os.stat_result, file: BinaryIO) -> _Content:
    if status.st_size > _READ_BYTES:
        return _Content(status, status.st_size, None, f"{status.st_size} bytes, which are too many to be read")
    digest, size, start = hashlib.sha256(), 0, b""
    # It may grow meanwhile.
    while size <= _READ_BYTES and (piece := file.read(_QUICK_BYTES)):
        start = start or piece
        digest.update(piece)
        size += len(piece)
    summary = _hashed(digest.hexdigest(), size)
    if size <= _SHOWN_BYTES:
        with contextlib.suppress(UnicodeDecodeError):
            summary = start.decode()
    return _Content(status, size, digest.hexdigest(), summary)


def _hashed(digest: str, size: int) -> str:
    return f"sha256:{digest} ({size} bytes)"


class File(PathResource):
    """A file that is written atomically: a reader sees the old content or the new one."""

    TYPE = "Isotherm::Local::File"
    DESCRIPTION = "A file on the machine that the engine runs on, inside the base folder."
    noun = "file"
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        PATH: Schema(
            STRING, "Where the file is: relative to the base folder, or absolute and inside it. Its folder has to exist.",
            required=True, observable=False),
        CONTENT: Schema(STRING, "What is in it, as UTF-8.", default="", update_allowed=True, normalise=_summary),
        MODE: ownership.mode("0644"),
        OWNER: ownership.OWNER,
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "path": AttributeSchema("The absolute path.", STRING),
        "sha256": AttributeSchema("The SHA-256 hash of the content that is there now, in hexadecimal; nothing if it has "
                                  f"more than {_READ_BYTES} bytes.", STRING, CACHE_NONE),
        "size": AttributeSchema("How many bytes it has now.", INTEGER, CACHE_NONE),
    }

    async def handle_create(self) -> object:
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            await self._write(parts, new=self.claim_place(parts))
        self.physical_id = "/".join(parts)
        return None

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            await self._write(parts, new=self.claim_place(parts))
        return None

    async def handle_delete(self) -> object:
        if self.physical_id is None:
            return None
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            if self.is_ours(parts):
                local_port(self).check()
                with contextlib.suppress(FileNotFoundError, Missing), self.confined.parent(parts) as folder:
                    os.unlink(parts[-1], dir_fd=folder)
                Claims(self.confined).release(parts)
        return None

    async def handle_get_reality(self) -> contract.LiveState:
        found = await self._read(self.place())
        if found is None:
            return contract.Gone()
        live, aliases = ownership.seen(found.status)
        return contract.Seen({CONTENT: found.summary, **live}, aliases)

    async def attribute(self, name: str) -> object:
        parts = self.place()
        if name == "path":
            return self.confined.absolute(parts)
        found = await self._read(parts)
        if found is None:
            return None
        return found.size if name == "size" else found.sha256

    def fits(self, found: os.stat_result | None) -> bool:
        return confinement.is_file(found)

    async def _read(self, parts: Parts) -> _Content | None:
        with confinement.translated_errors("/".join(parts)):
            size = getattr(self._status(parts), "st_size", 0)
            return self._content(parts) if size <= _QUICK_BYTES else await asyncio.to_thread(self._content, parts)

    def _content(self, parts: Parts) -> _Content | None:
        """Return the content if the path is a file, else None."""
        if not self.fits(self._status(parts)):
            return None
        try:
            with self.confined.parent(parts) as folder:
                # Not to wait for a writer, should it have become a pipe since.
                file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except (FileNotFoundError, Missing):
            return None
        with os.fdopen(file, "rb") as opened:
            status = os.fstat(file)
            return _content(status, opened) if self.fits(status) else None

    async def _write(self, parts: Parts, *, new: bool) -> None:
        try:
            data = self.properties[CONTENT].encode()
        except UnicodeEncodeError:
            raise errors.Permanent("the content has characters that UTF-8 has not") from None
        if len(data) <= _QUICK_BYTES:
            self._put(parts, data, new)
        else:
            await asyncio.to_thread(self._put, parts, data, new)

    def _put(self, parts: Parts, data: bytes, new: bool) -> None:
        name = parts[-1]
        with self.confined.own(_DRAFTS, make=True) as drafts, self.confined.parent(parts) as folder:
            if confinement.is_folder(confinement.status(folder, name)):
                raise errors.Permanent(f"{'/'.join(parts)} is a folder")
            # A draft that a kill left behind may be the very file that is live: it is not to be written into.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.token, dir_fd=drafts)
            draft = os.open(self.token, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=drafts)
            with os.fdopen(draft, "wb") as opened:
                opened.write(data)
                opened.flush()
                ownership.apply(draft, self.properties[MODE], self.properties[OWNER])
            local_port(self).check()
            if not new:
                os.rename(self.token, name, src_dir_fd=drafts, dst_dir_fd=folder)
                return
            # No file existed at the check before: one that was created since must not be overwritten.
            os.link(self.token, name, src_dir_fd=drafts, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(self.token, dir_fd=drafts)
