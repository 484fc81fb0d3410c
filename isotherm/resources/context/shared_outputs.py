"""The port through which a type reads outputs of other stacks of its project."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class ReadStack:
    """A stack as other stacks of its project may read it."""

    id: str
    name: str
    # The values of the outputs that are not secret; None where there is no value now.
    values: Mapping[str, Any]
    # Why an output has no value, by its name.
    problems: Mapping[str, str] = field(default_factory=dict)
    # Outputs that depend on a hidden parameter, or have a secret in them. They have no value here.
    secret: Collection[str] = ()
    # Whether an operation of the stack is in progress, so that values that are missing may still come.
    in_progress: bool = False


class SharedOutputs(Protocol):
    """Reads outputs of the stacks of one project."""

    def of(self, project: str) -> SharedOutputs:
        """Return the port for a project."""
        ...

    async def read(self, name_or_id: str) -> ReadStack | None:
        """Return the stack with its outputs; None if the project has no such stack, or it is being deleted."""
        ...
