"""Stack users: users of Keystone that servers and signal senders log in as, each for one version of one resource.

The port creates a user when a type first asks for it. Users need no deletion by types: once the version of the resource is
gone, so is its user.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

HINT = ("It needs users of Keystone for single resources: a service with auth_strategy = keystone, and the options "
        "stack_user_domain_id, stack_domain_admin and stack_domain_admin_password.")


@dataclass(frozen=True, slots=True)
class StackUser:
    """A user of Keystone who may act on one resource, and what the user logs in with."""

    username: str
    user_id: str
    # The project of the stack's users, and their domain.
    project_id: str
    domain_id: str
    # Keystone, as guests reach it.
    auth_url: str
    region: str
    password: str = field(repr=False)
    # The EC2 key; empty if the user has none.
    access_key: str = ""
    secret_key: str = field(default="", repr=False)


class StackUsers(Protocol):
    """The stack users of Keystone."""

    def guarded(self, check: Callable[[], None]) -> StackUsers:
        """Return the same port; each change calls `check` first."""
        ...

    async def ensure(self, stack_id: str, token: str, resource: str, *, with_key: bool = False) -> StackUser:
        """Return the user of a version of a resource. Create what is missing: the user, its project, its EC2 key."""
        ...

    async def find(self, token: str) -> StackUser | None:
        """Return the user of a version of a resource if there is one. Keystone is not asked."""
        ...

    async def set_enabled(self, token: str, enabled: bool) -> None:
        """Let the user of a version log in, or not. Without a user, nothing happens."""
        ...
