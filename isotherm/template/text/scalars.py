"""Values of scalars: YAML 1.1 as PyYAML reads it, except that dates stay strings, as in Heat.

A JSON document is read by the same parser; there numbers are JSON's (`1e3` is a number in JSON, a string in YAML).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

_TAG = "tag:yaml.org,2002:"
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_JSON_ENDLESS = frozenset({"NaN", "Infinity", "-Infinity"})
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
# Longer ones are refused: base 60 and decimal conversion are quadratic in the length.
_MAX_NUMBER_CHARS = 500


def plain(text: str) -> object:
    """Return the value of an unquoted scalar. Raises ValueError if it looks like a number and is none."""
    for tag, pattern in _RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            constructor = _CONSTRUCTORS.get(tag)
            return constructor(text) if constructor else text
    return text


def json_plain(text: str) -> object:
    match = _JSON_NUMBER.fullmatch(text)
    if match is None:
        return float(text) if text in _JSON_ENDLESS else plain(text)
    if len(text) > _MAX_NUMBER_CHARS:
        raise ValueError("number is too long")
    return float(text) if match[1] or match[2] else int(text)


def tagged(tag: str, text: str) -> object:
    """Return the value of a scalar with an explicit tag. Raises KeyError for an unknown tag."""
    if tag in ("!", _TAG + "str", _TAG + "timestamp"):
        return text
    return _CONSTRUCTORS[tag](text)


def _null(text: str) -> None:
    return None


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.lower()]
    except KeyError:
        raise ValueError(f"not a boolean: {text[:40]}") from None


def _signed(text: str) -> tuple[int, str]:
    if len(text) > _MAX_NUMBER_CHARS:
        raise ValueError("number is too long")
    text = text.replace("_", "")
    sign = -1 if text.startswith("-") else 1
    return sign, text[1:] if text[:1] in "+-" else text


def _integer(text: str) -> int:
    sign, digits = _signed(text)
    if digits.startswith("0b"):
        return sign * int(digits[2:], 2)
    if digits.startswith("0x"):
        return sign * int(digits[2:], 16)
    if ":" in digits:
        return sign * int(_base_60([int(part) for part in digits.split(":")]))
    if digits != "0" and digits.startswith("0"):
        return sign * int(digits, 8)
    return sign * int(digits)


def _number(text: str) -> float:
    sign, digits = _signed(text.lower())
    if digits == ".inf":
        return sign * float("inf")
    if digits == ".nan":
        return float("nan")
    if ":" in digits:
        return sign * _base_60([float(part) for part in digits.split(":")])
    return sign * float(digits)


def _base_60(parts: list[int] | list[float]) -> float:
    total: float = 0
    for part in parts:
        total = total * 60 + part
    return total


_CONSTRUCTORS: dict[str, Callable[[str], object]] = {
    _TAG + "null": _null, _TAG + "bool": _boolean, _TAG + "int": _integer, _TAG + "float": _number,
}
