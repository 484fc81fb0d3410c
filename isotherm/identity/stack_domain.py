"""The domain of stack users: what its administrator asks of Keystone. Each call may be repeated after a lost answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.port.access import Named


@dataclass(slots=True)
class StackDomain:
    """The users and projects in the domain of stack users. `identity` is Keystone, as the domain's administrator."""

    identity: rest.Service
    domain: Named
    role: str
    _domain_id: str = ""
    _role_id: str = field(default="", init=False)

    async def domain_id(self) -> str:
        """Return the id of the domain; Keystone is asked once, if the options give its name."""
        if not self._domain_id:
            known = {one["name"]: str(one["id"]) for one in await self.identity.pages("/auth/domains", "domains")}
            self._domain_id = self.domain.id or known.get(self.domain.name, "")
        if not self._domain_id:
            raise errors.Permanent(f"Keystone has no domain {self.domain} for stack users (stack_user_domain_name).")
        return self._domain_id

    async def ensure_project(self, name: str) -> str:
        """Return the id of the project with a name; create it if there is none."""
        body = {"name": name, "domain_id": await self.domain_id(), "description": "Users of a stack"}
        return await self._ensured("project", body)

    async def ensure_user(self, name: str, password: str, project_id: str) -> str:
        """Return the id of a user who has the role of stack users in a project; create what is missing."""
        user = await self._ensured("user", {
            "name": name, "password": password, "domain_id": await self.domain_id(), "default_project_id": project_id})
        role = await self._role()
        await self.identity.put(f"/projects/{rest.part(project_id)}/users/{rest.part(user)}/roles/{rest.part(role)}")
        return user

    async def ensure_key(self, user_id: str, project_id: str, access: str, secret: str) -> None:
        """Give a user an EC2 key. Keystone derives the id of the key from `access`: a repetition is a conflict."""
        body = {"type": "ec2", "user_id": user_id, "project_id": project_id,
                "blob": json.dumps({"access": access, "secret": secret})}
        try:
            await self.identity.post("/credentials", {"credential": body})
        except faults.InUse:
            return

    async def signer(self, credentials: Mapping[str, Any]) -> str | None:
        """Return the id of the user whose EC2 key has signed a request; None if the signature is not good."""
        try:
            answer = await self.identity.post("/ec2tokens", {"credentials": credentials})
        except (faults.Rejected, faults.NoSuchObject):
            return None
        return str(answer["token"]["user"]["id"])

    async def set_enabled(self, user_id: str, enabled: bool) -> None:
        await self.identity.patch(f"/users/{rest.part(user_id)}", {"user": {"enabled": enabled}})

    async def delete_user(self, user_id: str, name: str) -> bool:
        """Delete a user by id, or by name where the id is not known. Return whether there was one.

        Keystone deletes the keys of the user as well.
        """
        return await self._deleted("user", user_id, name)

    async def delete_project(self, project_id: str, name: str) -> bool:
        """Delete a project by id, or by name where the id is not known. Return whether there was one."""
        return await self._deleted("project", project_id, name)

    async def _ensured(self, kind: str, body: dict[str, Any]) -> str:
        try:
            answer = await self.identity.post(f"/{kind}s", {kind: body})
        except faults.InUse:
            found = await self._found(kind, str(body["name"]))
            if found is None:
                raise
            return found
        return str(answer[kind]["id"])

    async def _found(self, kind: str, name: str) -> str | None:
        query = {"name": name, "domain_id": await self.domain_id()}
        return next((str(one["id"]) for one in await self.identity.pages(f"/{kind}s", f"{kind}s", query)), None)

    async def _deleted(self, kind: str, id_: str, name: str) -> bool:
        known = id_ or await self._found(kind, name)
        if known is None:
            return False
        try:
            await self.identity.delete(f"/{kind}s/{rest.part(known)}")
        except faults.NoSuchObject:
            return False
        return True

    async def _role(self) -> str:
        if not self._role_id:
            roles = await self.identity.pages("/roles", "roles", {"name": self.role})
            if not roles:
                raise errors.Permanent(f"Keystone has no role {self.role} for stack users (heat_stack_user_role).")
            self._role_id = str(roles[0]["id"])
        return self._role_id
