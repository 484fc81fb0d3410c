"""Seals whole columns on their way into the database, and opens them on their way out, where there is a ring of keys.

Whatever may carry a secret is sealed, whoever put it there: nobody has to know what is secret, so nothing can be
forgotten. The ring comes with the connection; units of work stay what they are. What cannot be opened stays as it is: it
is the reader who finds out (`documents.decode` says why), so that one row with a lost key holds up nobody else, and a
resource whose properties cannot be read can still be deleted by its physical id.
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
# Texts that say nothing are stored as they are: most columns of most rows have one of them.
_EMPTY = frozenset(("", "{}", "[]", "null", "[null,{}]"))
# Of the texts that were sealed last, so many are remembered, if they are short.
_KEPT, _SHORT = 2048, 4096
# How the address of a blob begins that is a mark and no hash.
_MARK = "~"
_ADDRESS_BYTES = 31


class Clear:
    """No ring: everything is stored as it is."""

    def seal(self, text: Text, column: str, row: object, owner: str = "") -> Text:
        """The text as it is stored in this column of this row, which belongs to a stack or a project."""
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
    """Seals with a ring."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring
        # A row is written again, and read by its neighbours, soon after: what was just done is not done again.
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
        """Where a text is kept: no hash of it, which would tell whoever guesses the text that he is right."""
        return self.addresses(hash_, owner)[0]

    def addresses(self, hash_: str, owner: str = "") -> list[str]:
        """Where a text may be kept, also by older keys, or from the time before there were any."""
        if not hash_ or hash_.startswith(_MARK):
            return [hash_]
        marks = self._ring.marks(f"{owner}/{hash_}", _ADDRESS_BYTES)
        return [*(_MARK + mark for mark in marks), hash_]

    def digests(self, digest: str) -> list[str]:
        """What a digest is called in the tables, by the newest key and by older ones."""
        return self._ring.marks(digest)


class _Recent:
    """Remembers what it was last told: between `_KEPT` and twice as many."""

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
    """What an engine's execution options say of the ring, which is made when it is first needed."""
    return {} if ring is None else {_OPTION: cache(lambda: Sealing(ring()))}


def of(connection: sa.Connection) -> Clear:
    """What seals for this connection."""
    make: Callable[[], Clear] | None = connection.get_execution_options().get(_OPTION)
    return _CLEAR if make is None else make()


def with_digests(
    connection: sa.Connection, wanted: Sequence[Wanted], present: Mapping[str, Collection[str | None]]
) -> Sequence[Wanted]:
    """The same, with digests as the tables have them. `present` are those that a name has there already.

    A digest could be guessed from a known template and a short password, so the tables have a mark of it instead. After a
    new key was put in front, what has a mark by an older one keeps it: it has not changed.
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
