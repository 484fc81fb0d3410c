"""Reads values of query parameters and loosely typed fields; refuses invalid ones in Heat's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.api.http import faults

TAG_LENGTH = 80


def boolean(name: str, value: object, kind: str = "HTTPBadRequest") -> bool:
    """Return a boolean: a JSON one, or the text true or false in any case."""
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in ("true", "false"):
        raise faults.bad_request(f'Unrecognized value "{value}" for "{name}", acceptable values are: true, false.', kind)
    return text == "true"


def non_negative(name: str, value: object) -> int:
    """Return a non-negative integer."""
    try:
        if isinstance(value, bool | float):
            raise ValueError(value)
        number = int(str(value))
    except ValueError:
        raise faults.bad_request(f"Only integer is acceptable by '{name}'.") from None
    if number < 0:
        raise faults.bad_request(f"Value '{value}' is invalid for '{name}' which only accepts non-negative integer.")
    return min(number, 2**31 - 1)


def generation(name: str, fields: Mapping[str, Any]) -> int | None:
    """Return the generation in a field; None if the field is missing."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise faults.bad_request(f"{name} must be a generation of the stack, such as 3.", "ValueError")
    return value


def names(field: str, value: object) -> list[str]:
    """Return the names of resources in a list; none if there is no list."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise faults.bad_request(f"{field} must be a list of names of resources.", "ValueError")
    return value


def tags(value: object) -> list[str]:
    """Return the tags of a comma-separated text (an empty text is one empty tag), or of a list, as openstacksdk sends."""
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(tag, str) and "," not in tag for tag in found):
        raise faults.bad_request("tags must be a text, with commas between the tags.", "AttributeError")
    for tag in found:
        if len(tag) > TAG_LENGTH:
            raise faults.bad_request(f'Invalid tag, "{tag}" is longer than {TAG_LENGTH} characters')
    return found
