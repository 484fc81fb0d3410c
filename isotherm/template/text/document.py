"""Documents: the only reader of the text of templates and environments.

The C parser of PyYAML gives events; `construct` makes dicts, lists and scalars of them. It refuses input that only an
attacker needs: duplicate keys, tags, values that contain themselves, texts that expand to far more nodes than they have
(aliases are counted by what they expand to), deep nesting, NUL.

JSON is YAML and read by the same code; see `scalars` for the one difference. The position of a value in the text is
computed on demand (`Document.mark`), since only errors need it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs hide it

from isotherm import errors
from isotherm.template import limits
from isotherm.template.limits import Limits
from isotherm.template.text import construct

__all__ = ["Document", "Limits", "load"]

_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


class Document:
    """Plain data, and the text it came from."""

    __slots__ = ("_root", "_text", "data", "source")

    def __init__(self, data: Any, text: str = "", source: str = "") -> None:
        self.data = data
        self.source = source
        self._text = text
        self._root: yaml.Node | None = None

    def mark(self, path: Sequence[str | int]) -> errors.Mark | None:
        """Return the position of the value at `path`: of its key in a map, of itself in a list."""
        if self._root is None:
            self._root = _Composer(self._text).get_single_node()
        node = place = self._root
        for step in path:
            found = _child(node, step)
            if found is None:
                return None
            place, node = found
        if place is None:
            return None
        return errors.Mark(place.start_mark.line + 1, place.start_mark.column + 1, self.source)


def load(text: str | bytes, *, limits: Limits = limits.DEFAULT, source: str = "") -> Document:
    """Read YAML or JSON. Raises UserError, with the position in the text."""
    text = _decoded(text, limits, source)
    try:
        data = construct.Constructor(text, limits, source).document()
    except yaml.YAMLError as exc:
        raise _unreadable(exc, source) from exc
    except UnicodeEncodeError as exc:
        raise construct.problem("text holds half of a surrogate pair", None, source) from exc
    return Document(data, text, source)


def _decoded(text: str | bytes, limits: Limits, source: str) -> str:
    if len(text) > limits.max_bytes:
        raise errors.UserError(f"Request limit exceeded: Template size ({len(text)} bytes) exceeds maximum allowed size"
                               f" ({limits.max_bytes} bytes).", kind="RequestLimitExceeded")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as exc:
            raise construct.problem(f"text is not UTF-8: {exc.reason} at byte {exc.start}", None, source) from exc
    if "\\u" in text and construct.is_json(text):
        text = _SURROGATES.sub(_joined, text)
    return text


def _joined(match: re.Match[str]) -> str:
    """Join two escapes: JSON writes characters beyond 16 bits as two, YAML as one."""
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _unreadable(exc: yaml.YAMLError, source: str) -> errors.UserError:
    mark = getattr(exc, "problem_mark", None) or getattr(exc, "context_mark", None)
    words = [part for part in (getattr(exc, "context", None), getattr(exc, "problem", None)) if part]
    return construct.problem(": ".join(words) or str(exc), mark, source)


class _Composer(CParser):
    """Composes nodes with their positions; tags are ignored."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)

    def resolve(self, kind: object, value: object, implicit: object) -> str:
        return ""

    def descend_resolver(self, parent: object, index: object) -> None:
        """Do nothing: tags are not resolved by path."""

    def ascend_resolver(self) -> None:
        """Do nothing: tags are not resolved by path."""


def _child(node: Any, step: str | int) -> tuple[Any, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return key, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step], node.value[step]
    return None
