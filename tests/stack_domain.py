"""A domain of stack users in a Keystone, for one test, and what is in it."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


class Api(Protocol):
    """Keystone's API as an administrator."""

    def call(self, method: str, path: str, body: Any = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class StackDomain:
    """A domain with its administrator."""

    api: Api
    id: str
    name: str
    password: str

    @property
    def options(self) -> dict[str, str]:
        """Return the options of a service that creates its stack users here."""
        return {"stack_user_domain_name": self.name, "stack_domain_admin": self.name,
                "stack_domain_admin_password": self.password}

    def users(self) -> list[dict[str, Any]]:
        """Return the stack users."""
        found: list[dict[str, Any]] = self.api.call("GET", f"/users?domain_id={self.id}")["users"]
        return [one for one in found if one["name"] != self.name]

    def projects(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.call("GET", f"/projects?domain_id={self.id}")["projects"]
        return found

    def keys(self, user_id: str) -> list[dict[str, str]]:
        """Return the EC2 keys of a user."""
        found = self.api.call("GET", f"/credentials?user_id={user_id}&type=ec2")["credentials"]
        return [json.loads(one["blob"]) for one in found]

    def roles(self, user_id: str, project_id: str) -> list[str]:
        found = self.api.call("GET", f"/projects/{project_id}/users/{user_id}/roles")["roles"]
        return [one["name"] for one in found]


@contextlib.contextmanager
def made(api: Api) -> Iterator[StackDomain]:
    """Make a domain; delete it on exit, with everything in it."""
    name, password = f"stack-users-{secrets.token_hex(4)}", secrets.token_urlsafe(16)
    domain = api.call("POST", "/domains", {"domain": {"name": name}})["domain"]["id"]
    admin = api.call("POST", "/users", {"user": {"name": name, "password": password, "domain_id": domain}})["user"]["id"]
    role = next(one["id"] for one in api.call("GET", "/roles")["roles"] if one["name"] == "admin")
    api.call("PUT", f"/domains/{domain}/users/{admin}/roles/{role}")
    try:
        yield StackDomain(api, domain, name, password)
    finally:
        api.call("PATCH", f"/domains/{domain}", {"domain": {"enabled": False}})
        api.call("DELETE", f"/domains/{domain}")
