"""Rules of the operator for servers and volumes: how servers are called, and what schedulers are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# No cloud takes a longer name of a server: it becomes the name of the host, below a domain.
MOST_NAME_CHARS = 53


@dataclass(frozen=True, slots=True)
class StackLevel:
    """A stack, and its parent resource; None for a root stack."""

    id: str
    name: str
    resource: str | None = None


class _Resource(Protocol):
    name: str
    stack_id: str
    token: str


@dataclass(frozen=True, slots=True)
class ServerRules:
    """The rules for what types create. The defaults are those of the options."""

    # The longest default name of a server; 0: as long as those of all other objects.
    name_chars: int = MOST_NAME_CHARS
    # Returns the stacks from the root stack to the stack of this id; None: schedulers are told nothing.
    path_of: Callable[[str], Awaitable[Sequence[StackLevel]]] | None = None

    async def hints(self, resource: _Resource) -> dict[str, Any]:
        """Return the hints that say to a scheduler which resource the object belongs to."""
        if self.path_of is None:
            return {}
        path = await self.path_of(resource.stack_id)
        return {} if not path else {
            "heat_root_stack_id": path[0].id, "heat_stack_id": path[-1].id, "heat_stack_name": path[-1].name,
            "heat_path_in_stack": [[one.resource, one.name] for one in path],
            "heat_resource_name": resource.name, "heat_resource_uuid": resource.token,
        }
