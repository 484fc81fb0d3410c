"""Attributes: what others may read of a resource.

Every type has `show` beside its own. A path after the attribute's name selects inside the value; a step that does not
fit gives nothing, not an error, as in Heat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from isotherm.resources.schema import SHOW, AttributeSchema
from isotherm.template.constraints import Kind

SHOW_ATTRIBUTE = "show"

_FITS: dict[Kind, type | tuple[type, ...]] = {
    Kind.STRING: str, Kind.INTEGER: int, Kind.NUMBER: (int, float), Kind.BOOLEAN: bool, Kind.MAP: Mapping,
    Kind.LIST: list}


def known(schema: Mapping[str, AttributeSchema]) -> dict[str, AttributeSchema]:
    """The attributes of a type, with the one that all types have."""
    return {**schema, SHOW_ATTRIBUTE: SHOW}


def select(value: Any, path: Iterable[Any]) -> Any:
    """The part of a value that a path names (keys of maps, indexes of lists); None if there is none."""
    for one in path:
        if isinstance(value, Mapping):
            value = value.get(one, value.get(str(one)))
        elif isinstance(value, list):
            value = _item(value, one)
        else:
            return None
    return value


def _item(value: list[Any], index: Any) -> Any:
    try:
        return value[int(index)]
    except (ValueError, TypeError, IndexError):
        return None


def fits(schema: AttributeSchema, value: Any) -> bool:
    """Whether a value is of the declared type. Heat warns and hands it on all the same; so do we, without the noise."""
    return value is None or schema.type is None or isinstance(value, _FITS.get(schema.type, object))
