"""Schemas: what a resource type declares about its properties and attributes.

A schema is plain data: descriptions, defaults, whether a property may change in place. `properties` compiles it once
per type; the registry shows it to users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm.template.parameters import constraints
from isotherm.template.parameters.constraints import Kind

STRING, INTEGER, NUMBER, BOOLEAN = Kind.STRING, Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN
MAP, LIST, ANY = Kind.MAP, Kind.LIST, Kind.ANY

SUPPORTED, DEPRECATED, HIDDEN, UNSUPPORTED = "SUPPORTED", "DEPRECATED", "HIDDEN", "UNSUPPORTED"

CACHE_LOCAL, CACHE_NONE = "cache_local", "cache_none"


@dataclass(frozen=True, slots=True)
class Support:
    """The support status of a type or property: since which version, and whether it is deprecated."""

    status: str = SUPPORTED
    version: str | None = None
    message: str | None = None
    previous: Support | None = None

    def as_dict(self) -> dict[str, object]:
        previous = self.previous.as_dict() if self.previous else None
        return {"status": self.status, "message": self.message, "version": self.version, "previous_status": previous}


@dataclass(frozen=True, slots=True)
class Schema:
    """One property. `schema` is a map of names for a MAP, one Schema for the items of a LIST (or values of a MAP).

    The last fields say what a live value means. Every property counts as observable unless the type says otherwise: what
    its `handle_get_reality` leaves out of an answer has not been looked at, and is never drift.
    """

    type: Kind
    description: str = ""
    default: Any = None
    required: bool = False
    constraints: tuple[constraints.Constraint, ...] = ()
    update_allowed: bool = False
    immutable: bool = False
    schema: Mapping[str, Schema] | Schema | None = None
    implemented: bool = True
    support: Support = field(default_factory=Support)
    # Lists that also take "a,b" and maps that also take JSON text: parameters of a template used as a resource type.
    allow_conversion: bool = False
    # Whether the object shows it. A property that only controls an operation is not observable.
    observable: bool = True
    # Whether the service may change it on its own: such a change is no drift.
    managed: bool = False
    # Whether it can be set and never read back, such as a password. It is not shown either.
    write_only: bool = False
    # Brings two ways to write one thing into the same form (order, case, short forms) before they are compared.
    normalise: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class AttributeSchema:
    """One attribute of a type."""

    description: str = ""
    type: Kind | None = None
    cache_mode: str = CACHE_LOCAL
    support: Support = field(default_factory=Support)


SHOW = AttributeSchema("Detailed information about resource.", MAP, CACHE_NONE)
