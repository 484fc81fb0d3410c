"""Checks that a template that replaces a type has the interface of the type, in Heat's words."""

from __future__ import annotations

from collections.abc import Iterator

from isotherm.resources import contract
from isotherm.resources.schema import ANY, INTEGER, NUMBER


def problems(name: str, facade: type[contract.Resource], provider: type[contract.Resource]) -> Iterator[str]:
    """Yield the problems of a template that replaces a type: properties, additional requirements, attributes."""
    for key, wanted in facade.properties_schema.items():
        offered = provider.properties_schema.get(key)
        if offered is None and wanted.required:
            yield f"Required property {key} for facade {name} missing in provider"
        # A parameter knows no whole numbers.
        expected = NUMBER if wanted.type is INTEGER else wanted.type
        if offered is not None and ANY not in (expected, offered.type) and offered.type is not expected:
            yield f"Property {key} type mismatch between facade {name} ({wanted.type}) and provider ({offered.type})"
    for key, offered in provider.properties_schema.items():
        if offered.required and key not in facade.properties_schema:
            yield f"Provider requires property {key} unknown in facade {name}"
    for key in facade.attributes_schema:
        if key not in provider.attributes_schema:
            yield f"Attribute {key} for facade {name} missing in provider"
