"""Finds many words in one text, in linear time for any words.

A regular expression of all words is not linear: it takes seconds to build from a long word, and tries every word at every
position. Here long words are cut into pieces of equal length, and a table gives the longest word at a position: the length
is found bit by bit, with one table look-up per bit.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping

#: A shorter word is found only where it stands alone; as part of another word it reveals nothing.
MIN_PART = 4
#: Longer words are cut into pieces of this length. A power of two.
PIECE = 64
_STEPS = tuple(1 << bit for bit in range(PIECE.bit_length() - 1, -1, -1))
# The end of a text that was cut.
_CUT = "..."
_BOUNDARY = re.compile(r"(?<!\w)")


class Finder:
    """Finds the occurrences of a set of words."""

    __slots__ = ("_beginnings", "_heads", "_marks", "_pieces", "_short")

    def __init__(self, words: Iterable[str]) -> None:
        known = frozenset(words)
        self._short = frozenset(word for word in known if len(word) < MIN_PART)
        long = known - self._short
        pieces = frozenset(piece for word in long for piece in _pieces(word))
        self._heads = frozenset(piece[:MIN_PART] for piece in pieces)
        self._marks = _marks(pieces)
        # Sorted, to find the words with a given beginning.
        self._pieces = sorted(pieces)
        self._beginnings = sorted({word[:PIECE] for word in long})

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) spans, unordered and possibly overlapping, that cover every occurrence."""
        yield from self._long(text)
        if self._short:
            yield from self._alone(text)

    def cut(self, text: str, end: int) -> Iterator[tuple[int, int]]:
        """Yield the beginning of a word at the end of a cut text; `end` is the end of the last span before."""
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
        """Yield the spans of long words by start, with increasing ends."""
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
    """Yield pieces of at most PIECE characters that cover the word."""
    if len(word) <= PIECE:
        yield word
        return
    for start in range(0, len(word) - PIECE, PIECE):
        yield word[start : start + PIECE]
    yield word[-PIECE:]


def _marks(words: frozenset[str]) -> dict[str, int]:
    """Map the marks of all words to the length of the longest word that the mark begins with, or 0.

    A word of 13 = 8 + 4 + 1 characters has marks of 8, 12 and 13 characters: `_longest` searches along them.
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
        # All shorter marks are in the table already.
        marks.update({mark: size if mark in words else _longest(marks, mark, 0) for mark in by_size[size]})
    return marks


def _longest(marks: Mapping[str, int], text: str, start: int) -> int:
    """Return the length of the longest word at `start`, or 0.

    If the search passes a short word along the mark of a longer one, the entry of that mark holds the short word's length.
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
    """Return whether one of the words begins with the text."""
    at = bisect.bisect_left(ordered, text)
    return at < len(ordered) and ordered[at].startswith(text)


def _is_word(character: str) -> bool:
    """Return whether the character matches `\\w`."""
    return character.isalnum() or character == "_"
