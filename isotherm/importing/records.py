"""Values of an import: its tools, its result, and one resource in between."""

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


class NotImportable(Exception):
    """A part of the tree is not understood; the text says which."""


@dataclass(frozen=True, slots=True)
class HeatObject:
    """An object that existed in Heat's database only, for our `reality`."""

    type: str
    token: str
    properties: Mapping[str, Any]
    physical_id: str


@dataclass(slots=True)
class Prepared:
    """A prepared stack tree: parents come before their nested stacks."""

    arrivals: list[Arrival] = field(default_factory=list)
    objects: list[HeatObject] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ImportTools:
    """Everything that the preparation of a tree needs."""

    heat: heat_rows.Heat
    decryptor: decrypt.Decryptor
    types: Registry
    clock: contract.Clock
    new_id: Callable[[], str]
    # The project of the imported stacks; None: each keeps its own.
    project: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedResource:
    """One resource during the import."""

    row: heat_rows.HeatResource
    type: type[contract.Resource]
    target: documents.Target
    definition: Any
    after: dict[str, Any]
    translated: Translated

    def metadata(self, resolved: Any) -> Any:
        """Return Heat's metadata, or those of the template if Heat has none or keeps other values there."""
        return self.row.metadata if self.row.metadata and self.translated.metadata else resolved.metadata
