"""The resources of a template as a type may see them before any exists: names, types, unresolved properties.

Properties are the data of `frozen.freeze`: plain, comparable, and not to be changed. Parameters are resolved already. Two
`{get_resource: net}` are equal, and so are two equal literals; a literal name does not equal a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from isotherm.template.functions.references import GetResource, ResourceRef
from isotherm.template.model import frozen
from isotherm.template.model.definitions import Definition

_REFERENCES = (GetResource.form, ResourceRef.form)


class Neighbour:
    """One resource of the template. `requires` are the resources that the template itself says it requires."""

    __slots__ = ("_definition", "_properties", "name", "requires", "type")

    def __init__(self, definition: Definition, type_: str) -> None:
        self.name = definition.name
        # The type that implements the resource, whatever the template calls it.
        self.type = type_
        self.requires = definition.requires
        self._definition = definition
        self._properties: Mapping[str, Any] | None = None

    @property
    def properties(self) -> Mapping[str, Any]:
        """The unresolved properties. Empty if one function stands for all of them."""
        if self._properties is None:
            found = frozen.freeze(self._definition.properties)
            self._properties = found if isinstance(self._definition.properties, Mapping) else {}
        return self._properties


class Neighbours:
    """All resources of a template. The index by type is built at the first question."""

    def __init__(self, definitions: Mapping[str, Definition], type_of: Callable[[str], str]) -> None:
        self._definitions = definitions
        self._type_of = type_of
        self._known: dict[str, Neighbour] = {}
        self._names: dict[str, list[str]] | None = None

    def of_type(self, type_: str) -> Sequence[Neighbour]:
        """Return the resources that this type implements, in the order of the template."""
        if self._names is None:
            self._names = {}
            for name in self._definitions:
                self._names.setdefault(self._type_of(name), []).append(name)
        return [self._one(name) for name in self._names.get(type_, ())]

    def named(self, name: str) -> Neighbour | None:
        """Return the resource of this name."""
        return self._one(name) if name in self._definitions else None

    def _one(self, name: str) -> Neighbour:
        if name not in self._known:
            self._known[name] = Neighbour(self._definitions[name], self._type_of(name))
        return self._known[name]


def referenced(value: Any) -> str | None:
    """Return the name of the resource to which a `{get_resource: name}` among unresolved properties refers."""
    function = frozen.function_of(value)
    if function is None or function[0] not in _REFERENCES or not isinstance(function[1], str):
        return None
    return function[1]
