"""Values of query parameters and of loosely typed fields, with the words in which Heat refuses them."""

from __future__ import annotations

from isotherm.api.http import faults

TAG_LENGTH = 80


def boolean(name: str, value: object, kind: str = "HTTPBadRequest") -> bool:
    """Only true and false, in any case, and the real ones."""
    if isinstance(value, bool):
        return value
    told = str(value).lower()
    if told not in ("true", "false"):
        raise faults.bad_request(f'Unrecognized value "{value}" for "{name}", acceptable values are: true, false.', kind)
    return told == "true"


def non_negative(name: str, value: object) -> int:
    """An integer that is not negative."""
    try:
        if isinstance(value, bool | float):
            raise ValueError(value)
        number = int(str(value))
    except ValueError:
        raise faults.bad_request(f"Only integer is acceptable by '{name}'.") from None
    if number < 0:
        raise faults.bad_request(f"Value '{value}' is invalid for '{name}' which only accepts non-negative integer.")
    return min(number, 2**31 - 1)


def tags(value: object) -> list[str]:
    """A text with commas between the tags; an empty one is one empty tag. Or a list of them, as openstacksdk sends it."""
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(tag, str) and "," not in tag for tag in found):
        raise faults.bad_request("Tags are given as one text, separated by commas.", "AttributeError")
    for tag in found:
        if len(tag) > TAG_LENGTH:
            raise faults.bad_request(f'Invalid tag, "{tag}" is longer than {TAG_LENGTH} characters')
    return found
