"""Takes secrets out of what is told: reasons, messages, values.

A redactor knows the values that must not be told, and finds them by their text, also in the forms in which libraries quote
them: escaped as in JSON or Python, as part of an address, in base64. A value that is shorter than four characters is
masked only where it stands alone: as a part of other words it says nothing.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

from isotherm.errors import UserError

MASK = "******"
_TELLING = 4
# A line of a secret with several (a private key) gives it away as well.
_LINE = 8
_CUT = "..."


class Redactor:
    """Knows what must not be told."""

    __slots__ = ("_pattern", "_words", "values")

    def __init__(self, values: Iterable[object]) -> None:
        #: The texts themselves, for those who are to keep the secret too.
        self.values = tuple(sorted({text for value in values for text in texts(value)}))
        self._words = frozenset(form for text in self.values for form in _forms(text))
        self._pattern = _pattern(self._words)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __add__(self, other: Iterable[object]) -> Redactor:
        """One that knows these values as well."""
        more = list(other)
        return Redactor([*self.values, *more]) if more else self

    def text(self, text: str) -> str:
        """The text, with a mask in place of each secret."""
        if self._pattern is None or not text:
            return text
        return self._without_cut_end(self._pattern.sub(MASK, text))

    def value(self, value: Any) -> Any:
        """The same data, with a mask in place of each text or number that tells a secret, keys included."""
        if self._pattern is None:
            return value
        if isinstance(value, Mapping):
            return {self.text(key) if isinstance(key, str) else key: self.value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        return MASK if self._tells(value) else value

    def error(self, error: UserError) -> UserError:
        """The same error without secrets. Paths stay as they are: they are made of the template's names, and lead to it."""
        if self._pattern is None:
            return error
        return error.retold(tuple(replace(one, message=self.text(one.message), hint=self.text(one.hint))
                                  for one in error.problems))

    def touches(self, value: Any) -> bool:
        """Whether there is a secret in the data."""
        return self._pattern is not None and any(self._tells(text) for text in texts(value))

    def _tells(self, value: object) -> bool:
        if value is None or isinstance(value, bool) or self._pattern is None:
            return False
        text = str(value)
        if text in self._words:
            return True
        return isinstance(value, str) and self._pattern.search(text) is not None

    def _without_cut_end(self, text: str) -> str:
        """A text that was cut may end in the first part of a secret."""
        if not text.endswith(_CUT):
            return text
        body = text[: -len(_CUT)]
        for word in self._words:
            for length in range(min(len(word) - 1, len(body)), _TELLING - 1, -1):
                if body.endswith(word[:length]):
                    return body[:-length] + MASK + _CUT
        return text


def texts(value: object) -> Iterator[str]:
    """The texts and numbers in a value, as texts. What everybody could have guessed is no secret."""
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
    if len(text) < _TELLING:
        return
    raw = text.encode("utf-8", "surrogatepass")
    yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    yield from (quote(raw, safe=""), quote_plus(raw), base64.b64encode(raw).decode())
    lines = text.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _LINE)


def _pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    # The longest first: a secret that is part of another must not leave the rest of it.
    ordered = sorted(words, key=lambda word: (-len(word), word))
    parts = [re.escape(one) if len(one) >= _TELLING else rf"(?<!\w){re.escape(one)}(?!\w)" for one in ordered]
    return re.compile("|".join(parts)) if parts else None
