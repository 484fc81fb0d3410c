"""The caller of an API request: the result of authentication, and the input of policy and handlers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caller:
    """The user behind a request."""

    project: str
    user_id: str = ""
    user_name: str = ""
    roles: frozenset[str] = frozenset()
    is_admin: bool = False
    project_name: str = ""
    # Keystone can name one project whose administrators are those of the cloud; if it names none, all projects are.
    is_admin_project: bool = True
    token: str = field(default="", repr=False)
    # The types of the services in the token's catalog, as far as resource types need them; None: there is no catalog.
    services: frozenset[str] | None = None
    # Of a stack user: the stack's id and the resource's name. A stack user may act on that resource alone.
    stack_user: tuple[str, str] | None = None
