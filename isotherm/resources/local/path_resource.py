"""Base classes of types on this machine: a path inside the base folder, and a claim on it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import local_access
from isotherm.resources.local import confinement
from isotherm.resources.local.claims import Claim, Claims
from isotherm.resources.local.confinement import Confined, Missing, Parts

PATH, MODE, OWNER = "path", "mode", "owner"
TOKEN = "token"


def local_port(resource: contract.Resource) -> local_access.Local:
    """Return the port, if the operator allows local resources. Raises Permanent otherwise."""
    if resource.context.local is None:
        raise errors.Permanent(f"{resource.TYPE} is not allowed here. {local_access.HINT}")
    return resource.context.local


class LocalResource(contract.Resource):
    """An object on this machine, found by the token of its resource."""

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        # A stack that adopts the object has another token, so the object's own is stored.
        self.data[TOKEN] = self.token
        return True

    @property
    def tokens(self) -> tuple[str, ...]:
        return (self.token, self.data[TOKEN]) if TOKEN in self.data else (self.token,)

    @property
    def confined(self) -> Confined:
        return Confined(local_port(self).base)

    def needs_replace_failed(self) -> bool:
        return False  # an update says what should be, and makes it so


class PathResource(LocalResource):
    """An object at a path. The physical id is the path below the base folder."""

    # The noun for the type's objects in messages.
    noun = ""

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        wrong = confinement.wrong_with(properties[PATH] or "")
        if wrong:
            yield wrong

    def place(self) -> Parts:
        """Return the path of the object; before its creation, the path of the properties."""
        return self.confined.parts(self.properties[PATH] if self.physical_id is None else self.physical_id)

    def claim_place(self, parts: Parts) -> bool:
        """Claim the path, and return whether nothing exists there. Called before anything is created."""
        claims, path = Claims(self.confined), "/".join(parts)
        known = claims.of(parts)
        with self.confined.parent(parts) as folder:
            free = confinement.status(folder, parts[-1]) is None
        if known is None and not free:
            raise errors.Permanent(f"{path} exists already, and no resource made it. external_id takes it as it is.",
                                   object_exists=True)
        local_port(self).check()
        claims.take(parts, Claim(path, self.token, self.stack_id, self.name), self.tokens)
        return free

    def is_ours(self, parts: Parts) -> bool:
        known = Claims(self.confined).of(parts)
        return known is not None and known.token in self.tokens

    def fits(self, found: os.stat_result | None) -> bool:
        """Return whether the object at the path is of this type's kind."""
        raise NotImplementedError

    async def find_by_token(self) -> contract.Search:
        if self.context.local is None:
            return contract.CannotTell(f"the {self.noun} {self.properties[PATH]}")
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            return contract.found("/".join(parts) if self.is_ours(parts) and self.fits(self._status(parts)) else None)

    async def handle_check(self) -> object:
        parts = self.place()
        with confinement.translated_errors("/".join(parts)):
            if not self.fits(self._status(parts)):
                raise errors.Permanent(f"the {self.noun} {'/'.join(parts)} does not exist")
        return None

    def _status(self, parts: Parts) -> os.stat_result | None:
        try:
            with self.confined.parent(parts) as folder:
                return confinement.status(folder, parts[-1])
        except Missing:
            return None
