"""Masks secrets in reasons, messages and values.

A redactor finds secret values by their text, also in the forms in which libraries quote them: escaped as in JSON or Python,
URL-encoded, in base64. A value shorter than four characters is masked only where it stands alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

from isotherm.errors import UserError
from isotherm.secrets.finder import MIN_PART, Finder

MASK = "******"
# Lines of at least this length of a multi-line secret (a private key) are secrets too.
_LINE = 8


class Redactor:
    """Masks a set of secret values."""

    __slots__ = ("_finders", "values")

    def __init__(self, values: Iterable[object]) -> None:
        #: The secret texts, to build other redactors from.
        self.values = tuple(sorted({text for value in values for text in texts(value)}))
        self._finders = (Finder(form for text in self.values for form in _forms(text)),) if self.values else ()

    def __bool__(self) -> bool:
        return bool(self.values)

    @property
    def size(self) -> int:
        """The total length of the values: the memory they take."""
        return sum(map(len, self.values))

    def __add__(self, other: Redactor | Iterable[object]) -> Redactor:
        """Return a redactor of both sets of values. Only new values are prepared, so adding a few is cheap."""
        known = frozenset(self.values)
        more = other if isinstance(other, Redactor) else Redactor(
            text for value in other for text in texts(value) if text not in known)
        if known.issuperset(more.values):
            return self
        both = Redactor(())
        both.values = tuple(sorted(known.union(more.values)))
        both._finders = (*self._finders, *more._finders)
        return both

    def text(self, text: str) -> str:
        """Return the text with each secret masked. Secrets that overlap or touch get one mask."""
        found = list(_merged(self._spans(text)))
        last = found[-1][1] if found else 0
        found += (span for finder in self._finders for span in finder.cut(text, last))
        parts, kept_from = list[str](), 0
        for start, end in _merged(found):
            parts += (text[kept_from:start], MASK)
            kept_from = end
        return "".join((*parts, text[kept_from:])) if parts else text

    def value(self, value: Any) -> Any:
        """Return the data with each text or number that contains a secret masked, keys included."""
        if not self._finders:
            return value
        if isinstance(value, Mapping):
            return {self.text(key) if isinstance(key, str) else key: self.value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return MASK if self._contains_secret(value) else value

    def error(self, error: UserError) -> UserError:
        """Return the error with secrets masked. Paths are kept: they consist of names in the template."""
        if not self._finders:
            return error
        return error.with_problems(tuple(replace(one, message=self.text(one.message), hint=self.text(one.hint))
                                  for one in error.problems))

    def has_secret(self, value: Any) -> bool:
        """Return whether the data contains a secret."""
        return bool(self._finders) and any(self._contains_secret(text) for text in texts(value))

    def _contains_secret(self, value: object) -> bool:
        if value is None or isinstance(value, bool):
            return False
        text = str(value)
        if isinstance(value, str):
            return next(self._spans(text), None) is not None
        # Part of a number reveals nothing: only the whole number counts.
        return list(_merged(self._spans(text))) == [(0, len(text))]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        return (span for finder in self._finders for span in finder.spans(text))


def texts(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value, as texts. None, booleans and blank texts are not secrets."""
    if isinstance(value, Mapping):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts(one)
    elif value is not None and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _forms(text: str) -> Iterator[str]:
    yield text
    if len(text) < MIN_PART:
        return
    raw = text.encode("utf-8", "surrogatepass")
    yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    yield from (quote(raw, safe=""), quote_plus(raw), base64.b64encode(raw).decode())
    lines = text.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _LINE)


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans in order; merge those that overlap or touch."""
    ordered = sorted(spans)
    at = 0
    while at < len(ordered):
        start, end = ordered[at]
        while at < len(ordered) and ordered[at][0] <= end:
            end = max(end, ordered[at][1])
            at += 1
        yield start, end
