"""Attributes: what others may read of a resource.

Every type has `show` beside its own. A path after the attribute's name selects inside the value; a step that does not
fit gives nothing, not an error, as in Heat.
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
    """The attributes of a type, with the one that all types have."""
    return {**schema, SHOW_ATTRIBUTE: SHOW}


def fits(schema: AttributeSchema, value: Any) -> bool:
    """Whether a value is of the declared type. Heat warns and hands it on all the same; so do we, without the noise."""
    return value is None or schema.type is None or isinstance(value, _FITS.get(schema.type, object))
