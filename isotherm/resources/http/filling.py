"""Fills placeholders in URLs and bodies, and reads values from replies. Pure.

`{id}` is the physical id, `{token}` the token, `{name}` a readable name, `{object.a.b}` a value of the object. In a
body, a text that is only a placeholder becomes the value itself, of any type; in a URL, values are quoted, so that they
cannot change the path. Other braces are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from isotherm import errors

_PLACE = re.compile(r"\{(id|token|name|object(?:\.[^{}]+)?)\}")
_MISSING = object()


def url(text: str, values: Mapping[str, Any]) -> str:
    return _PLACE.sub(lambda place: quote(_text(_value(place[1], values)), safe=""), text)


def body(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        whole = _PLACE.fullmatch(template)
        return _value(whole[1], values) if whole else _PLACE.sub(lambda one: _text(_value(one[1], values)), template)
    if isinstance(template, Mapping):
        return {key: body(one, values) for key, one in template.items()}
    return [body(one, values) for one in template] if isinstance(template, list) else template


def uses(template: Any, name: str) -> bool:
    """Return whether a placeholder of that name is used."""
    if isinstance(template, Mapping):
        return any(uses(one, name) for one in template.values())
    if isinstance(template, list):
        return any(uses(one, name) for one in template)
    return isinstance(template, str) and any(one[1].partition(".")[0] == name for one in _PLACE.finditer(template))


def found(data: Any, path: str) -> Any:
    """Return the value at a path such as `items.0.id`, or None. An empty path is the whole."""
    here = _found(data, path)
    return None if here is _MISSING else here


def _value(place: str, values: Mapping[str, Any]) -> Any:
    name, _, path = place.partition(".")
    here = _found(values[name], path)
    if here is _MISSING or here is None:
        raise errors.Permanent(f"there is no value for {{{place}}}")
    return here


def _found(data: Any, path: str) -> Any:
    for step in path.split(".") if path else ():
        if isinstance(data, Mapping) and step in data:
            data = data[step]
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return _MISSING
    return data


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise errors.Permanent("only texts and numbers can be put into a text")
