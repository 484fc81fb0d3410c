"""Constructs plain data from the events of the YAML parser.

One loop over all events: this is the hottest code of the package, and makes reading a template several times faster than
PyYAML's own constructor. It also refuses texts that expand to more than the limits. Called by `document` only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]  # the stubs hide it

from isotherm import errors
from isotherm.template.limits import Limits
from isotherm.template.text import scalars

_NO_KEY: Final = object()
_MERGE: Final = object()
_CONTAINER_TAGS = {yaml.MappingStartEvent: "tag:yaml.org,2002:map", yaml.SequenceStartEvent: "tag:yaml.org,2002:seq"}


def is_json(text: str) -> bool:
    return text[:64].lstrip()[:1] == "{"


def problem(message: str, mark: Any, source: str, hint: str = "") -> errors.UserError:
    place = errors.Mark(mark.line + 1, mark.column + 1, source) if mark is not None else None
    return errors.UserError(f"Error parsing template: {message}", kind="ValueError", mark=place, hint=hint)


class Constructor:
    """Reads one document. Containers are attached when they end, so an alias can never reach its own parent."""

    def __init__(self, text: str, limits: Limits, source: str) -> None:
        self._next: Callable[[], Any] = CParser(text).get_event
        self._limits = limits
        self._source = source
        self._plain = scalars.json_plain if is_json(text) else scalars.plain
        self._words: dict[str, object] = {}
        self._anchors: dict[str, tuple[object, int, int]] = {}  # value, nodes, height
        self._heights: dict[int, int] = {}  # of anchored containers
        self._nodes = 0
        self._alias_nodes = 0

    def document(self) -> object:
        self._next()  # the stream starts
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            return None
        value = self._value()
        self._next()  # the document ends
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            raise problem("expected a single document in the stream", event.start_mark, self._source)
        return value

    def _value(self) -> object:  # noqa: C901  # one loop over all events: calls would double the time
        get, words = self._next, self._words
        scalar_event, map_event, list_event = yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent
        alias_event, max_depth, max_nodes = yaml.AliasEvent, self._limits.max_depth, self._limits.max_nodes
        outer: list[tuple[Any, Any, Any, int]] = []  # what surrounds: container, key, event, nodes before
        top: Any = None
        key: Any = _NO_KEY
        start: Any = None
        before = 0
        merges: dict[int, list[Any]] = {}
        nodes = 0
        while True:
            event = get()
            kind = type(event)
            nodes += 1
            if kind is scalar_event:
                if event.implicit[0] and event.tag is None:
                    text = event.value
                    value = words.get(text, _NO_KEY)
                    if value is _NO_KEY:
                        value = words[text] = self._word(event)
                    if text == "<<" and key is _NO_KEY and type(top) is dict:
                        value = _MERGE
                else:
                    value = self._scalar(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = (value, 1, 0)
            elif kind is map_event or kind is list_event:
                if len(outer) >= max_depth:
                    raise self._too("deep: nesting", max_depth, event)
                if event.tag is not None and event.tag != _CONTAINER_TAGS[kind] and event.tag != "!":
                    raise self._unknown_tag(event)
                if event.anchor is not None:
                    self._anchors[event.anchor] = (_NO_KEY, 0, 0)
                outer.append((top, key, start, before))
                top, key, start, before = ({} if kind is map_event else []), _NO_KEY, event, nodes
                continue
            elif kind is alias_event:
                value, extra = self._alias(event, len(outer))
                nodes += extra
            else:  # a container ends
                nodes -= 1
                if nodes > max_nodes:
                    raise self._too("many values", max_nodes, event)
                value = top
                if merges and id(value) in merges:
                    nodes += self._merge(value, merges.pop(id(value)), event)
                if start.anchor is not None:
                    self._heights[id(value)] = height = self._height(value)
                    self._anchors[start.anchor] = (value, nodes - before + 1, height)
                top, key, start, before = outer.pop()
            if type(top) is dict:
                if key is _NO_KEY:
                    key = value
                    if type(key) is not str and key is not _MERGE:
                        key = self._text_key(key, event)
                    if key in top:
                        raise self._duplicate(key, event)
                elif key is _MERGE:
                    merges.setdefault(id(top), []).append((value, event))
                    key = _NO_KEY
                else:
                    top[key] = value
                    key = _NO_KEY
            elif top is None:
                return value
            else:
                top.append(value)

    def _word(self, event: Any) -> object:
        try:
            return self._plain(event.value)
        except ValueError as exc:
            raise problem(str(exc), event.start_mark, self._source) from exc

    def _scalar(self, event: Any) -> object:
        text: str = event.value
        if "\0" in text:
            raise problem("NUL is not allowed", event.start_mark, self._source)
        if event.tag is None:
            return text
        try:
            return scalars.tagged(event.tag, text)
        except KeyError:
            raise self._unknown_tag(event) from None
        except ValueError as exc:
            raise problem(str(exc), event.start_mark, self._source) from exc

    def _alias(self, event: Any, depth: int) -> tuple[object, int]:
        found = self._anchors.get(event.anchor)
        if found is None:
            raise problem(f"found undefined alias {event.anchor}", event.start_mark, self._source)
        value, nodes, height = found
        if value is _NO_KEY:
            raise problem(f"alias {event.anchor} stands inside the value it names", event.start_mark, self._source)
        if depth + height > self._limits.max_depth:
            raise self._too("deep: nesting", self._limits.max_depth, event)
        self._alias_nodes += nodes
        if self._alias_nodes > self._limits.max_alias_nodes:
            raise self._too("many values by aliases", self._limits.max_alias_nodes, event)
        return value, nodes

    def _height(self, value: Any) -> int:
        """Return the depth of a container. Anchored parts inside were measured before, so each part is visited once."""
        known = self._heights.get(id(value))
        if known is not None:
            return known
        items = value.values() if type(value) is dict else value
        return 1 + max((self._height(item) for item in items if type(item) is dict or type(item) is list), default=0)

    def _merge(self, own: dict[Any, Any], merges: list[tuple[Any, Any]], event: Any) -> int:
        """Add the entries of the maps under `<<` whose keys are missing; the first map that has a key wins."""
        merged: dict[Any, Any] = {}
        for value, place in merges:
            for part in value if type(value) is list else [value]:
                if type(part) is not dict:
                    raise problem("expected a mapping for merging", place.start_mark, self._source)
                for key, item in part.items():
                    merged.setdefault(key, item)
        explicit = dict(own)
        own.clear()
        own.update(merged)
        own.update(explicit)
        self._alias_nodes += len(merged)
        return len(merged)

    def _text_key(self, key: object, event: Any) -> str:
        """Return the key as text, spelled as in JSON: templates are sent and stored as JSON."""
        if type(key) is dict or type(key) is list:
            raise problem("found unhashable key", event.start_mark, self._source)
        return key if isinstance(key, str) else json.dumps(key)

    def _duplicate(self, key: object, event: Any) -> errors.UserError:
        return problem(f'duplicate key "{key}"', event.start_mark, self._source,
                        hint="each key may stand once in a map: rename or remove one of them")

    def _unknown_tag(self, event: Any) -> errors.UserError:
        return problem(f"could not determine a constructor for the tag '{event.tag}'", event.start_mark, self._source)

    def _too(self, what: str, limit: int, event: Any) -> errors.UserError:
        return errors.UserError(f"Request limit exceeded: too {what} (limit: {limit})", kind="RequestLimitExceeded",
                                mark=errors.Mark(event.start_mark.line + 1, event.start_mark.column + 1, self._source))
