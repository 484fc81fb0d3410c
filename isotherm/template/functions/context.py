"""The context in which a function is parsed: sections, files, parameters and the parent resource.

A function that needs one of these takes it while it is parsed and keeps it, so that evaluation needs references only.
`isotherm.template.parse` makes the contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Facade:
    """The resource of the parent stack that this template implements."""

    metadata: Any = None
    deletion_policy: str = "Delete"
    update_policy: Any = None


def _no_condition(value: Any) -> bool:
    raise NotImplementedError("conditions are not there yet")


@dataclass(slots=True)
class Reader:
    """The context of a function."""

    resource_names: Collection[object] = ()
    parameter_names: Collection[str] = ()
    # The values of the parameters that are not hidden.
    plain: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    mappings: Any = None
    facade: Facade | None = None
    zones: tuple[str, ...] = ()
    is_true: Callable[[Any], bool] = _no_condition
    parse: Callable[[Any], Any] = lambda snippet: snippet
    parse_condition: Callable[[Any], Any] = lambda snippet: snippet
