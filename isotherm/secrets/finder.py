"""Finds many texts in one text, in time linear in both, whatever the texts are.

A regular expression of all words is not linear: it takes seconds to build from a long word, and tries every word at every
position. Here a long word is cut into pieces of equal length, so that no word is longer than a piece, and a table is asked
for the longest word at a position: the length is found bit by bit, with one look into the table for each bit.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping

#: A word that is shorter is found only where it stands alone: as a part of other words it says nothing.
MIN_PART = 4
#: A longer word is found by its pieces of this length. A power of two.
PIECE = 64
_STEPS = tuple(1 << bit for bit in range(PIECE.bit_length() - 1, -1, -1))
# A text that was cut ends in this.
_CUT = "..."
_BOUNDARY = re.compile(r"(?<!\w)")


class Finder:
    """Knows words, and finds where they stand."""

    __slots__ = ("_beginnings", "_heads", "_marks", "_pieces", "_short")

    def __init__(self, words: Iterable[str]) -> None:
        known = frozenset(words)
        self._short = frozenset(word for word in known if len(word) < MIN_PART)
        long = known - self._short
        pieces = frozenset(piece for word in long for piece in _pieces(word))
        self._heads = frozenset(piece[:MIN_PART] for piece in pieces)
        self._marks = _marks(pieces)
        # In order, to look up what begins with a text.
        self._pieces = sorted(pieces)
        self._beginnings = sorted({word[:PIECE] for word in long})

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where words stand, as starts and ends, in no order. They may overlap: together they cover every occurrence."""
        yield from self._long(text)
        if self._short:
            yield from self._alone(text)

    def cut(self, text: str, end: int) -> Iterator[tuple[int, int]]:
        """Where the first part of a word stands at the end of a text that was cut; `end` is that of the last span in it."""
        body = len(text) - len(_CUT)
        if not text.endswith(_CUT):
            return
        if 0 < end < body < end + PIECE and _begins(self._pieces, text[end:body]):
            yield end, body
        for start in range(max(0, body - PIECE), body - MIN_PART + 1):
            if _begins(self._beginnings, text[start:body]):
                yield start, body
                return

    def _long(self, text: str) -> Iterator[tuple[int, int]]:
        """By start, each with an end that is greater than the one before."""
        heads, end = self._heads, 0
        for start in range(len(text) - MIN_PART + 1 if heads else 0):
            if text[start : start + MIN_PART] in heads and (size := _longest(self._marks, text, start)) + start > end:
                end = start + size
                yield start, end

    def _alone(self, text: str) -> Iterator[tuple[int, int]]:
        for found in _BOUNDARY.finditer(text):
            start = found.start()
            for end in range(start + 1, min(start + MIN_PART, len(text) + 1)):
                if text[start:end] in self._short and not _is_word(text[end : end + 1]):
                    yield start, end


def _pieces(word: str) -> Iterator[str]:
    """Texts of at most PIECE characters that cover the word wherever it stands."""
    if len(word) <= PIECE:
        yield word
        return
    for start in range(0, len(word) - PIECE, PIECE):
        yield word[start : start + PIECE]
    yield word[-PIECE:]


def _marks(words: frozenset[str]) -> dict[str, int]:
    """By beginning of a word: the length of the longest word that this text begins with, or 0.

    A word of 13 = 8 + 4 + 1 characters has marks of 8, 12 and 13: the search for the length goes by them.
    """
    by_size: dict[int, set[str]] = {}
    for word in words:
        size = 0
        for step in _STEPS:
            if len(word) & step:
                size += step
                by_size.setdefault(size, set()).add(word[:size])
    marks: dict[str, int] = {}
    for size in sorted(by_size):
        # All shorter ones are known by now, and none of this size.
        marks.update({mark: size if mark in words else _longest(marks, mark, 0) for mark in by_size[size]})
    return marks


def _longest(marks: Mapping[str, int], text: str, start: int) -> int:
    """The length of the longest word that stands there, or 0.

    Where the search goes beyond a shorter word, because a mark of a longer one stands there too, that mark knows the
    shorter word: it begins with it.
    """
    size = found = 0
    for step in _STEPS:
        known = marks.get(text[start : start + size + step])
        if known is not None:
            size, found = size + step, known
            if size >= PIECE:
                break
    return found


def _begins(ordered: list[str], text: str) -> bool:
    """Whether one of them begins with the text."""
    at = bisect.bisect_left(ordered, text)
    return at < len(ordered) and ordered[at].startswith(text)


def _is_word(character: str) -> bool:
    """As `\\w` of a regular expression has it."""
    return character.isalnum() or character == "_"
