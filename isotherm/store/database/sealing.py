"""Seals whole columns on their way into the database, and opens them on their way out, if there is a key ring.

Every column that may carry a secret is sealed as a whole, so that no code has to know which values are secret. The ring
comes with the connection; units of work do not handle it. A text that cannot be opened is returned sealed, and its reader
raises the error (`documents.decode`). So one row with a lost key does not block other rows, and a resource whose
properties cannot be read can still be deleted by its physical id.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from msgspec.structs import replace

from isotherm import errors
from isotherm.secrets import SEALED
from isotherm.store.records import Wanted

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

Text = TypeVar("Text", str, str | None)
# Empty values are stored as they are: most columns of most rows have one of them.
_EMPTY = frozenset(("", "{}", "[]", "null", "[null,{}]"))
# Number of recently sealed texts that are cached, and the length up to which they are.
_KEPT, _SHORT = 2048, 4096
# Prefix of a blob's address that is a keyed mark, not a hash.
_MARK = "~"
_ADDRESS_BYTES = 31


class Clear:
    """Stores all texts as they are: there is no key ring."""

    def seal(self, text: Text, column: str, row: object, owner: str = "") -> Text:
        """Return the text as stored in this column of this row, which belongs to a stack or a project."""
        return text

    def open(self, text: Text, column: str, row: object, owner: str = "") -> Text:
        return text

    def address(self, hash_: str, owner: str = "") -> str:
        return hash_

    def addresses(self, hash_: str, owner: str = "") -> list[str]:
        return [hash_]

    def digests(self, digest: str) -> list[str]:
        return [digest]


class Sealing(Clear):
    """Seals texts with a key ring."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring
        # A row is written again, and read by its dependants, soon after: both directions are cached.
        self._sealed, self._opened = _Recent(), _Recent()

    def seal(self, text: Text, column: str, row: object, owner: str = "") -> Text:
        if text is None or text in _EMPTY or text.startswith(SEALED):
            return text
        place = f"{column}/{row}/{owner}"
        known = self._sealed.get((text, place))
        if known is not None:
            return known
        sealed = self._ring.seal(text, place)
        if len(sealed) <= _SHORT:
            self._sealed.put((text, place), sealed)
            self._opened.put((sealed, place), text)
        return sealed

    def open(self, text: Text, column: str, row: object, owner: str = "") -> Text:
        if text is None or not text.startswith(SEALED):
            return text
        place = f"{column}/{row}/{owner}"
        known = self._opened.get((text, place))
        if known is not None:
            return known
        try:
            return self._ring.open(text, place)
        except errors.Unreadable:
            return text

    def address(self, hash_: str, owner: str = "") -> str:
        """Return the address of a text: a keyed mark, because a plain hash would confirm a guess of the text."""
        return self.addresses(hash_, owner)[0]

    def addresses(self, hash_: str, owner: str = "") -> list[str]:
        """Return the possible addresses of a text: by the newest key, by older keys, and its hash without a key."""
        if not hash_ or hash_.startswith(_MARK):
            return [hash_]
        marks = self._ring.marks(f"{owner}/{hash_}", _ADDRESS_BYTES)
        return [*(_MARK + mark for mark in marks), hash_]

    def digests(self, digest: str) -> list[str]:
        """Return the stored forms of a digest, by the newest key and by older ones."""
        return self._ring.marks(digest)


class _Recent:
    """A cache of the entries that were put last: between `_KEPT` and twice as many."""

    def __init__(self) -> None:
        self._new: dict[tuple[str, str], str] = {}
        self._old: dict[tuple[str, str], str] = {}

    def get(self, key: tuple[str, str]) -> str | None:
        return self._new.get(key) or self._old.get(key)

    def put(self, key: tuple[str, str], text: str) -> None:
        if len(self._new) >= _KEPT:
            self._old, self._new = self._new, {}
        self._new[key] = text


_CLEAR = Clear()
_OPTION = "sealing"


def options(ring: Callable[[], KeyRing] | None) -> dict[str, object]:
    """Return the execution options of an engine with this ring, which is loaded when it is first needed."""
    return {} if ring is None else {_OPTION: cache(lambda: Sealing(ring()))}


def of(connection: sa.Connection) -> Clear:
    """Return the sealing of this connection."""
    make: Callable[[], Clear] | None = connection.get_execution_options().get(_OPTION)
    return _CLEAR if make is None else make()


def with_digests(
    connection: sa.Connection, wanted: Sequence[Wanted], present: Mapping[str, Collection[str | None]]
) -> Sequence[Wanted]:
    """Return `wanted` with digests in their stored form. `present` has the stored digests by name.

    A password could be guessed from a plain digest and a known template, so the tables have a keyed mark instead. After
    the key was changed, a resource keeps a mark of an older key: its definition has not changed.
    """
    box = of(connection)
    if box is _CLEAR:
        return wanted
    found = []
    for want in wanted:
        marks = box.digests(want.digest)
        known = present.get(want.name, ())
        found.append(replace(want, digest=next((mark for mark in marks if mark in known), marks[0])))
    return found
