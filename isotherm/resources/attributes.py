"""Attributes: the values of a resource that templates and users may read.

Every type has `show` beside its own. A path after the attribute's name selects inside the value; a path that does not
fit gives null and no error, as in Heat.
"""

from __future__ import annotations

from collections.abc import Mapping

from isotherm.resources.schema import SHOW, AttributeSchema
from isotherm.template.model.definitions import select

__all__ = ["SHOW_ATTRIBUTE", "known", "select"]

SHOW_ATTRIBUTE = "show"


def known(schema: Mapping[str, AttributeSchema]) -> dict[str, AttributeSchema]:
    """Return the attributes of a type, with `show`."""
    return {**schema, SHOW_ATTRIBUTE: SHOW}
