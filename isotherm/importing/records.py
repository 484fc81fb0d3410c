"""What preparing is made of: what it takes, what it gives, and one resource on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm.importing import decrypt, heat_rows
from isotherm.importing.translate import Translated
from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.registry import Registry
from isotherm.store.operations.arrive import Arrival


class Refused(Exception):
    """Something was not understood; the text says what."""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object that existed in Heat's database only, for our `reality`."""

    type: str
    token: str
    properties: Mapping[str, Any]
    physical_id: str


@dataclass(slots=True)
class Prepared:
    """A tree that is ready to arrive: those around come first."""

    arrivals: list[Arrival] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tools:
    """What preparing takes."""

    heat: heat_rows.Heat
    opener: decrypt.Opener
    types: Registry
    clock: contract.Clock
    new_id: Callable[[], str]
    # Where the stacks go: None leaves each in the project that it is in.
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Came:
    """One resource on its way."""

    row: heat_rows.Resource
    type: type[contract.Resource]
    target: documents.Target
    definition: Any
    after: dict[str, Any]
    translated: Translated

    def metadata(self, resolved: Any) -> Any:
        """Heat's, which may have been changed since, unless it has none or keeps something else there."""
        return self.row.metadata if self.row.metadata and self.translated.metadata else resolved.metadata
