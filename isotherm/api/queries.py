"""Values of query parameters and of loosely typed fields, with the words in which Heat refuses them."""

from __future__ import annotations

from isotherm.api import faults


def boolean(name: str, value: object) -> bool:
    """Only true and false, in any case, and the real ones."""
    if isinstance(value, bool):
        return value
    told = str(value).lower()
    if told not in ("true", "false"):
        raise faults.bad(f'Unrecognized value "{value}" for "{name}", acceptable values are: true, false.')
    return told == "true"


def whole(name: str, value: object) -> int:
    """An integer that is not negative."""
    try:
        if isinstance(value, bool | float):
            raise ValueError(value)
        number = int(str(value))
    except ValueError:
        raise faults.bad(f"Only integer is acceptable by '{name}'.", "ValueError") from None
    if number < 0:
        raise faults.bad(f"Value '{value}' is invalid for '{name}' which only accepts non-negative integer.", "ValueError")
    return min(number, 2**31 - 1)
