"""Stack users: one user of Keystone for each version of a resource whose server or signal sender has to log in.

All users of a root stack and of the stacks in it are in one project of the domain of stack users. A row announces each
user and each project, with names that nothing else has, before Keystone is asked. A process that dies in between leaves
the row: the next attempt gets a conflict from Keystone and finds the object by its name. The password and the EC2 key are
drawn before Keystone is asked as well, and stored sealed.

`sweep` deletes the users whose version of a resource is gone, and the projects whose root stack is.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from isotherm import errors
from isotherm.identity.stack_domain import StackDomain
from isotherm.resources import contract
from isotherm.resources.context.stack_users import StackUser
from isotherm.resources.openstack import faults
from isotherm.store import stack_users as rows
from isotherm.store.database.writer import Store
from isotherm.store.stack_users import ResourceOfUser, StackUserProject, StackUserRow

__all__ = ["KeystoneStackUsers", "ResourceOfUser"]

log = logging.getLogger(__name__)

_SWEEP_S = 10.0
_AGAIN_S = 60.0
# Keystone may carry out a request that long after its client has died: no object yet does not mean that none comes.
_IN_FLIGHT_S = 120.0
_NAME_CHARS = 255
_PROJECT_CHARS = 64


class _Secret(msgspec.Struct, frozen=True):
    """The password and the EC2 key of a stack user."""

    password: str
    access: str
    secret: str


def _free() -> None:
    """Check nothing: there is no lease."""


@dataclass(frozen=True, slots=True)
class GuestView:
    """Keystone as guests reach it."""

    auth_url: str
    region: str = ""


@dataclass(frozen=True, slots=True)
class KeystoneStackUsers:
    """Creates stack users, finds and deletes them."""

    store: Store
    clock: contract.Clock
    new_id: Callable[[], str]
    domain: StackDomain
    guests: GuestView
    check: Callable[[], None] = _free

    def guarded(self, check: Callable[[], None]) -> KeystoneStackUsers:
        return replace(self, check=check)

    async def ensure(self, stack_id: str, token: str, resource: str, *, with_key: bool = False) -> StackUser:
        try:
            return await self._ensure(stack_id, token, resource, with_key=with_key)
        except errors.NotBegun:
            raise
        except errors.Temporary as error:
            # A type asks for its user before it asks for anything else: its own object has not been begun.
            raise errors.NotBegun(str(error), error.retry_after_s if error.says_when else None) from error

    async def _ensure(self, stack_id: str, token: str, resource: str, *, with_key: bool) -> StackUser:
        now = self.clock.now()
        place = await self.store.read(lambda connection: rows.place(connection, stack_id))
        if place is None:
            raise errors.Superseded(f"stack {stack_id} is gone")
        project = await self._ensure_project(place)
        wanted = self._drawn(place, stack_id, token, resource)
        row = await self.store.write(lambda connection: rows.announce(connection, wanted._replace(asked_at=now)))
        if row.user_id and (row.has_key or not with_key):
            return await self._shown(row, project.project_id)
        secret = _opened(row)
        self.check()
        user_id = row.user_id or await self.domain.ensure_user(row.username, secret.password, project.project_id)
        if with_key:
            self.check()
            await self.domain.ensure_key(user_id, project.project_id, secret.access, secret.secret)
        has_key = with_key or row.has_key
        await self.store.write(lambda connection: rows.confirm(connection, row.id, user_id, has_key=has_key))
        return await self._shown(row._replace(user_id=user_id, has_key=has_key), project.project_id)

    async def find(self, token: str) -> StackUser | None:
        row = await self.store.read(lambda connection: rows.of_version(connection, token))
        if row is None or not row.user_id:
            return None
        project = await self.store.read(lambda connection: rows.project(connection, row.root_id))
        return None if project is None else await self._shown(row, project.project_id)

    async def set_enabled(self, token: str, enabled: bool) -> None:
        row = await self.store.read(lambda connection: rows.of_version(connection, token))
        if row is None or not row.user_id:
            return
        self.check()
        try:
            await self.domain.set_enabled(row.user_id, enabled)
        except faults.NoSuchObject as error:
            raise errors.Permanent(f"Stack user {row.username} is gone from Keystone. Replace the resource: mark it "
                                   "unhealthy and update the stack.") from error

    async def project_of(self, stack_id: str) -> str:
        """Return the id of the project of the stack users of a stack; empty if there is none."""
        found = await self.store.read(lambda connection: rows.projects_of(connection, [stack_id]))
        return found.get(stack_id, "")

    async def resource_of(self, user_id: str) -> ResourceOfUser | None:
        """Return the resource that a user of Keystone may act on; None for a user who is no stack user."""
        return await self.store.read(lambda connection: rows.resource_of(connection, user_id))

    async def signer(self, credentials: Mapping[str, Any]) -> str | None:
        """Return the id of the user whose EC2 key has signed a request; None if the signature is not good."""
        return await self.domain.signer(credentials)

    # Deletion.

    async def run(self) -> None:
        """Delete useless users and projects, until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:
                log.exception("useless stack users were not deleted")
            await asyncio.sleep(_SWEEP_S)

    async def sweep(self) -> None:
        now = self.clock.now()
        for user in await self.store.read(lambda connection: rows.useless(connection, now)):
            await self._delete_user(user)
        for project in await self.store.read(lambda connection: rows.useless_projects(connection, now)):
            await self._delete_project(project)

    async def _delete_user(self, row: StackUserRow) -> None:
        until = self.clock.now() + _AGAIN_S
        try:
            was_there = await self.domain.delete_user(row.user_id, row.username)
        except errors.CloudError as error:
            log.info("Keystone deleted no stack user", extra={"error": str(error)})
            await self.store.write(lambda connection: rows.postpone(connection, row.id, until))
            return
        if was_there or row.user_id or self._has_landed(row.asked_at):
            await self.store.write(lambda connection: rows.forget(connection, row.id))
        else:
            await self.store.write(lambda connection: rows.postpone(connection, row.id, until))

    async def _delete_project(self, row: StackUserProject) -> None:
        until = self.clock.now() + _AGAIN_S
        try:
            was_there = await self.domain.delete_project(row.project_id, row.name)
        except errors.CloudError as error:
            log.info("Keystone deleted no project of stack users", extra={"error": str(error)})
            await self.store.write(lambda connection: rows.postpone_project(connection, row.stack_id, until))
            return
        if was_there or row.project_id or self._has_landed(row.asked_at):
            await self.store.write(lambda connection: rows.forget_project(connection, row.stack_id))
        else:
            await self.store.write(lambda connection: rows.postpone_project(connection, row.stack_id, until))

    def _has_landed(self, asked_at: float) -> bool:
        """Return whether no request of a dead process can be under way any more."""
        return self.clock.now() - asked_at > _IN_FLIGHT_S

    # Rows.

    async def _ensure_project(self, place: rows.Place) -> StackUserProject:
        # As Heat names it, cut to what its Keystone takes.
        name = f"{place.project}-{place.root_id}"[:_PROJECT_CHARS]
        row = await self.store.write(
            lambda connection: rows.announce_project(connection, place.root_id, name, self.clock.now()))
        if row.project_id:
            return row
        self.check()
        project_id = await self.domain.ensure_project(row.name)
        await self.store.write(lambda connection: rows.confirm_project(connection, place.root_id, project_id))
        return row._replace(project_id=project_id)

    def _drawn(self, place: rows.Place, stack_id: str, token: str, resource: str) -> StackUserRow:
        """Return the row of a new user."""
        id_ = self.new_id()
        end = f"-{id_}"
        username = f"{place.stack_name}-{resource}"[:_NAME_CHARS - len(end)] + end
        # Some Keystones ask for all kinds of characters.
        drawn = _Secret(f"{secrets.token_urlsafe(24)}aA1!", secrets.token_hex(16), secrets.token_hex(16))
        return StackUserRow(id_, place.root_id, stack_id, place.project, token, resource, username, "",
                            msgspec.json.encode(drawn).decode(), False, 0.0)

    async def _shown(self, row: StackUserRow, project_id: str) -> StackUser:
        secret = _opened(row)
        key = (secret.access, secret.secret) if row.has_key else ("", "")
        return StackUser(row.username, row.user_id, project_id, await self.domain.domain_id(), self.guests.auth_url,
                         self.guests.region, secret.password, *key)


def _opened(row: StackUserRow) -> _Secret:
    try:
        return msgspec.json.decode(row.secret, type=_Secret)
    except msgspec.DecodeError:
        raise errors.Permanent("The password of the stack user was sealed with a key that is lost. Replace the resource: "
                               "mark it unhealthy and update the stack.") from None
