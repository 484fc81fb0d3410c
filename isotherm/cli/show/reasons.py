"""Explains a dependency: which property refers to the other resource, and which attribute it needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from isotherm.template.functions import node
from isotherm.template.model.definitions import Definition

DEPENDS_ON, REFERENCE, ATTRIBUTE, TYPE = "depends_on", "reference", "attribute", "type"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. `at` is a path in the dependent resource; `attribute` the attribute it needs, a name and steps."""

    by: str
    at: str = ""
    attribute: tuple[Any, ...] = ()

    @property
    def wanted(self) -> str:
        """Return the attribute that is needed, as a suffix to the name of the other resource."""
        if self.by != ATTRIBUTE:
            return ""
        return f".{node.path_text(list(self.attribute))}" if self.attribute else ".*"

    @property
    def place(self) -> str:
        """Return where it is needed, as text: a property unless it says otherwise."""
        return {DEPENDS_ON: "depends_on", TYPE: "its type"}.get(self.by, self.at.removeprefix("properties."))

    def __str__(self) -> str:
        return f"{self.wanted.removeprefix('.')} for {self.place}" if self.wanted else self.place

    def as_data(self) -> dict[str, object]:
        data: dict[str, object] = {"by": self.by}
        if self.at:
            data["at"] = self.at
        if self.by == ATTRIBUTE:
            data["attribute"] = list(self.attribute)
        return data


def of(definition: Definition, requires: Iterable[str]) -> dict[str, list[Reason]]:
    """Return the reasons for each requirement of a definition, in the order of the template."""
    found: dict[str, list[Reason]] = {}
    for section in ("properties", "metadata"):
        for path, function in node.functions(getattr(definition, section)):
            at = node.path_text([section, *path])
            for name, attribute in function.uses():
                reason = Reason(REFERENCE, at) if attribute is None else Reason(ATTRIBUTE, at, attribute)
                found.setdefault(str(name), []).append(reason)
    for name in definition.depends_on:
        found.setdefault(name, []).append(Reason(DEPENDS_ON))
    return {need: found.get(need) or [Reason(TYPE)] for need in sorted(requires, key=_position(found))}


def _position(found: dict[str, list[Reason]]) -> Any:
    places = {name: place for place, name in enumerate(found)}
    return lambda need: (places.get(need, len(places)), need)
