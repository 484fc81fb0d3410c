"""Resolves references of a definition from published values of other resources, and from hidden parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from isotherm.planning import documents
from isotherm.resources import attributes
from isotherm.store.records import Input


class PublishedReferences:
    """The published values of a node's requirements; None for one that has published nothing."""

    def __init__(self, inputs: Iterable[Input], parameter: Callable[[str], object]) -> None:
        self._texts = {item.name: item.published for item in inputs}
        self._read: dict[str, documents.Published | None] = {}
        self._parameter = parameter

    def _published(self, resource: str) -> documents.Published | None:
        if resource not in self._read:
            text = self._texts.get(resource)
            self._read[resource] = None if text is None else documents.decode(text, documents.Published)
        return self._read[resource]

    def reference_id(self, resource: str) -> object:
        published = self._published(resource)
        return resource if published is None else published.reference

    def attribute(self, resource: str, attr: str, path: Sequence[Any] = ()) -> Any:
        published = self._published(resource)
        if published is not None and path and (whole := documents.encode([attr, *path])) in published.attributes:
            return published.attributes[whole]
        if published is not None and path and (further := f"{attr}.{path[0]}") in published.attributes:
            attr, path = further, path[1:]
        value = None if published is None else published.attributes.get(attr)
        return attributes.select(value, tuple(path)) if path else value

    def attributes(self, resource: str) -> Mapping[str, Any]:
        published = self._published(resource)
        return {} if published is None else published.attributes

    def parameter(self, name: str) -> object:
        return self._parameter(name)
