"""What files and folders on this machine have in common: a place inside the base folder, and a claim on it."""

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
    """The folder, if the operator lends one."""
    if resource.context.local is None:
        raise errors.Permanent(f"{resource.TYPE} is not allowed here. {local_access.HINT}")
    return resource.context.local


class Local(contract.Resource):
    """Something on this machine, known by the token of whoever made it."""

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        # Whoever adopts the stack has a token of his own: this is what the object goes by.
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


class Placed(Local):
    """Something at a path. The physical id is the path below the base folder."""

    # What a type calls itself when it speaks of its objects.
    noun = ""

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        wrong = confinement.wrong_with(properties[PATH] or "")
        if wrong:
            yield wrong

    def place(self) -> Parts:
        """Where it is; before it is made, where it will be."""
        return self.confined.parts(self.properties[PATH] if self.physical_id is None else self.physical_id)

    def claim_place(self, parts: Parts) -> bool:
        """Make the place ours, or refuse; whether nothing stands there yet. Called before anything is made."""
        claims, path = Claims(self.confined), "/".join(parts)
        known = claims.of(parts)
        with self.confined.parent(parts) as folder:
            free = confinement.status(folder, parts[-1]) is None
        if known is None and not free:
            raise errors.Permanent(f"{path} exists already, and no resource made it. external_id takes it as it is.")
        local_port(self).check()
        claims.take(parts, Claim(path, self.token, self.stack_id, self.name), self.tokens)
        return free

    def is_ours(self, parts: Parts) -> bool:
        known = Claims(self.confined).of(parts)
        return known is not None and known.token in self.tokens

    def fits(self, found: os.stat_result | None) -> bool:
        """Whether what stands at the place is of our kind."""
        raise NotImplementedError

    async def find_by_token(self) -> contract.Search:
        if self.context.local is None:
            return contract.CannotTell(f"the {self.noun} {self.properties[PATH]}")
        parts = self.place()
        with confinement.told("/".join(parts)):
            return contract.found("/".join(parts) if self.is_ours(parts) and self.fits(self._status(parts)) else None)

    async def handle_check(self) -> object:
        parts = self.place()
        with confinement.told("/".join(parts)):
            if not self.fits(self._status(parts)):
                raise errors.Permanent(f"the {self.noun} {'/'.join(parts)} does not exist")
        return None

    def _status(self, parts: Parts) -> os.stat_result | None:
        try:
            with self.confined.parent(parts) as folder:
                return confinement.status(folder, parts[-1])
        except Missing:
            return None
