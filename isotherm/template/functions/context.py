"""What functions may know about the template they stand in, while it is read.

The smallest view of it: a function that needs a section, a file or the parent takes it here and keeps it, so that
evaluation needs nothing but references. `isotherm.template.parse` makes these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Facade:
    """The resource of the parent stack that this template stands for."""

    metadata: Any = None
    deletion_policy: str = "Delete"
    update_policy: Any = None


def _no_condition(value: Any) -> bool:
    raise NotImplementedError("conditions are not there yet")


@dataclass(slots=True)
class Reader:
    """The surroundings of a function."""

    resource_names: Collection[object] = ()
    parameter_names: Collection[str] = ()
    # The values of parameters that are no secret.
    plain: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    mappings: Any = None
    facade: Facade | None = None
    zones: tuple[str, ...] = ()
    is_true: Callable[[Any], bool] = _no_condition
    parse: Callable[[Any], Any] = lambda snippet: snippet
    parse_condition: Callable[[Any], Any] = lambda snippet: snippet
