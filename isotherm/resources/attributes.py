"""Attributes: the values of a resource that templates and users may read.

Every type has `show` beside its own. A path after the attribute's name selects inside the value; a path that does not
fit gives null and no error, as in Heat.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.resources.schema import SHOW, AttributeSchema
from isotherm.template.model.definitions import select
from isotherm.template.parameters.constraints import Kind

__all__ = ["SHOW_ATTRIBUTE", "fits", "known", "select"]

SHOW_ATTRIBUTE = "show"

_FITS: dict[Kind, type | tuple[type, ...]] = {
    Kind.STRING: str, Kind.INTEGER: int, Kind.NUMBER: (int, float), Kind.BOOLEAN: bool, Kind.MAP: Mapping,
    Kind.LIST: list}


def known(schema: Mapping[str, AttributeSchema]) -> dict[str, AttributeSchema]:
    """Return the attributes of a type, with `show`."""
    return {**schema, SHOW_ATTRIBUTE: SHOW}


def fits(schema: AttributeSchema, value: Any) -> bool:
    """Return whether a value has the declared type. Heat only warns if it does not; the value is used all the same."""
    return value is None or schema.type is None or isinstance(value, _FITS.get(schema.type, object))
