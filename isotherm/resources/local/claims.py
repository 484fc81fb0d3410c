"""Claims: which resource a path belongs to. One small file for each path, apart from the path itself.

A claim is written with the resource's token before anything is created. So an object of a killed engine is found again,
objects of others are never overwritten, and a replaced version does not delete what its successor uses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Collection

import msgspec

from isotherm import errors
from isotherm.resources.local.confinement import OWN, Confined, Missing, Parts

_FOLDER = "claims"


class Claim(msgspec.Struct, frozen=True):
    """A path belongs to one version of one resource."""

    path: str
    token: str
    stack_id: str
    resource: str

    def is_of_same_resource(self, other: Claim) -> bool:
        return (self.stack_id, self.resource) == (other.stack_id, other.resource)


class Claims:
    """All claims of a base folder."""

    def __init__(self, confined: Confined) -> None:
        self._confined = confined

    def of(self, parts: Parts) -> Claim | None:
        try:
            with self._confined.own(_FOLDER) as folder:
                file = os.open(_name(parts), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        except (FileNotFoundError, Missing):
            return None
        with os.fdopen(file, "rb") as opened:
            return msgspec.json.decode(opened.read(), type=Claim)

    def take(self, parts: Parts, claim: Claim, tokens: Collection[str]) -> None:
        """Claim a path. A claim with one of our tokens, or of an older version of the same resource, is replaced.

        Refuses a path that another resource has claimed.
        """
        known = self.of(parts)
        if known == claim:
            return
        if known is not None and known.token not in tokens and not known.is_of_same_resource(claim):
            raise errors.Permanent(
                f"{claim.path} belongs to another resource (see {OWN}/{_FOLDER}/{_name(parts)} in the base folder)")
        with self._confined.own(_FOLDER, make=True) as folder:
            if not _put(folder, _name(parts), msgspec.json.encode(claim), new=known is None):
                self.take(parts, claim, tokens)  # another process was faster: check its claim

    def release(self, parts: Parts) -> None:
        with contextlib.suppress(FileNotFoundError, Missing), self._confined.own(_FOLDER) as folder:
            os.unlink(_name(parts), dir_fd=folder)


def _name(parts: Parts) -> str:
    return hashlib.sha256("/".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _put(folder: int, name: str, data: bytes, *, new: bool) -> bool:
    """Write a file atomically; return False if it had to be new and exists."""
    draft = f".{secrets.token_hex(8)}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(file, "wb") as opened:
        opened.write(data)
    if not new:
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    try:
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        return True
    except FileExistsError:
        return False
    finally:
        os.unlink(draft, dir_fd=folder)
