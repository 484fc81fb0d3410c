"""The requester: the project and the rights with which the engine serves one request."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, field

# The project of commands that work on a folder without a service.
DEFAULT_PROJECT = "default"


@dataclass(frozen=True, slots=True)
class Requester:
    """The project that a request acts in, and what the request may use there."""

    project: str = DEFAULT_PROJECT
    # The name of the user; it is recorded with the stacks that the request creates.
    username: str = ""
    # Returns whether the request may use a resource type; None: every type is allowed.
    may_use: Callable[[str], bool] | None = None
    # The types of the services in the catalog of the user's token; None: there is no catalog.
    services: Container[str] | None = None
    # The id of the credential that acceptance binds to the stack; empty: none.
    credential: str = field(default="", repr=False)
    # The user's token; empty: there is no Keystone.
    token: str = field(default="", repr=False)
    # The entry of clouds.yaml that the request names; empty: that of the stack.
    cloud: str = ""
