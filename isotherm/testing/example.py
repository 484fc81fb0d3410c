"""The value that a plug-in author gives to the conformance kit: a type, and how to try it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isotherm.resources import contract


@dataclass(frozen=True, slots=True)
class Example:
    """A type, properties to try it with, and access to its objects. A check whose field is None is skipped."""

    type: type[contract.Resource]
    properties: Mapping[str, Any]
    # All properties after a change in place, and after one that replaces the object.
    in_place: Mapping[str, Any] | None = None
    replacing: Mapping[str, Any] | None = None
    # The physical ids of all objects of the example that exist outside of the engine. Like the functions below, it gets the
    # folder of the engine, for types whose objects are in there.
    objects: Callable[[Path], Collection[str]] | None = None
    # Change, or delete, the object with this physical id without telling the engine.
    drift: Callable[[Path, str], object] | None = None
    vanish: Callable[[Path, str], object] | None = None
    # A value among the properties that the engine must not store in clear text.
    secret: str = ""
    # Other resources of the template, by name, as a template writes them: the properties may refer to them.
    beside: Mapping[str, Any] = field(default_factory=dict)
    # Signals for a type that waits for them, by the name of the resource that takes them. The resource of the example is
    # called `subject`. Several signals for one resource are a list. They are sent again while it waits.
    signals: Mapping[str, Any] = field(default_factory=dict)
    # The entry of clouds.yaml whose cloud has the objects; empty: the type needs no cloud.
    cloud: str = ""
