"""Who asks: what authentication has found out, and all that policy and handlers may know of it."""

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
    # Keystone says of one project that its administrators are those of the cloud; where it does not, all are.
    is_admin_project: bool = True
    token: str = field(default="", repr=False)
    # The types of the services in the token's catalog, as far as resource types need them; None: there is no catalog.
    services: frozenset[str] | None = None
    # Of a user that stands for one resource: its stack's id and its name. Such a one may do nothing else.
    stack_user: tuple[str, str] | None = None
