"""Tokens of Keystone: one for each access, shared by all calls of a process and renewed before it expires.

Requests for the same token wait for one request to Keystone. A process keeps a token with its catalogue in memory only.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors
from isotherm.resources.context import local_access
from isotherm.resources.openstack.port.access import CloudAccess
from isotherm.resources.openstack.port.catalogue import Catalogue
from isotherm.resources.openstack.port.transport import Transport

# A call that begins with the token must end before it expires.
EARLY_S = 120.0
_MOST = 5_000
_JSON = {"Content-Type": "application/json", "Accept": "application/json"}
_TRUST_GONE = ("The user who created or last updated this stack, or the trust by which that user lets the service act, is "
               "gone from Keystone or has lost its roles. Update the stack as a user of its project: the service then "
               "acts for that user.")


@dataclass(frozen=True, slots=True)
class Token:
    """A token with what Keystone says about it."""

    id: str = field(repr=False)
    expires_at: float
    catalogue: Catalogue
    project_id: str = ""
    project_name: str = ""
    user_id: str = ""


class Tokens:
    """The tokens of a process."""

    def __init__(self, transport: Transport, now: Any) -> None:
        """`now` returns the seconds since the epoch."""
        self._transport = transport
        self._now = now
        self._kept: dict[CloudAccess, Token] = {}
        self._asked: dict[CloudAccess, asyncio.Task[Token]] = {}

    async def token(self, access: CloudAccess) -> Token:
        """Return a token that is valid for some time. Raises Permanent if Keystone refuses, NotBegun if it is away."""
        token = self._kept.get(access)
        if token is not None and self._now() < token.expires_at - EARLY_S:
            return token
        task = self._asked.get(access)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = self._asked[access] = asyncio.create_task(self._ask(access))
            task.add_done_callback(lambda done: self._answered(access, done))
        # Shielded: other calls wait for the same answer.
        return await asyncio.shield(task)

    def drop(self, access: CloudAccess, refused: Token) -> None:
        """Forget a token that a service refused, unless there is a newer one already."""
        if self._kept.get(access) is refused:
            del self._kept[access]

    def _answered(self, access: CloudAccess, done: asyncio.Task[Token]) -> None:
        if self._asked.get(access) is done:
            del self._asked[access]
        if not done.cancelled():
            # Mark the error as seen: every caller may have been cancelled.
            done.exception()

    async def _ask(self, access: CloudAccess) -> Token:
        reply = await self._sent(access)
        if reply.status not in (200, 201):
            raise _refusal(access, reply)
        token = _token(access, reply)
        if len(self._kept) >= _MOST:
            now = self._now()
            self._kept = {one: kept for one, kept in self._kept.items() if now < kept.expires_at - EARLY_S}
            if len(self._kept) >= _MOST:
                self._kept.clear()
        self._kept[access] = token
        return token

    async def _sent(self, access: CloudAccess) -> local_access.Reply:
        login, url = access.login, f"{access.auth_url}/auth/tokens"
        if login.is_given:
            own = {**_JSON, "X-Auth-Token": login.secret, "X-Subject-Token": login.secret}
            call = local_access.Call("GET", url, own, timeout_s=None)
        else:
            call = local_access.Call("POST", url, _JSON, json.dumps(login.as_json()).encode(), timeout_s=None)
        try:
            return await self._transport.send("identity", call, access.tls)
        except errors.Temporary as error:
            # A token that was not received changes nothing: the call that needs it has not begun.
            raise errors.NotBegun(f"Keystone of {access} gave no token: {error}", error.retry_after_s) from error


def _token(access: CloudAccess, reply: local_access.Reply) -> Token:
    try:
        body = json.loads(reply.body)["token"]
        project = body.get("project") or {}
        # Keystone writes Z; a time without a zone is UTC, too.
        expires = datetime.datetime.fromisoformat(str(body["expires_at"]).removesuffix("Z")).replace(tzinfo=datetime.UTC)
        given = access.login.secret if access.login.is_given else reply.headers["x-subject-token"]
        return Token(given, expires.timestamp(), Catalogue.of(body.get("catalog") or ()), str(project.get("id", "")),
                     str(project.get("name", "")), str(body.get("user", {}).get("id", "")))
    except (ValueError, KeyError, TypeError) as error:
        raise errors.Permanent(f"{access.auth_url}/auth/tokens answers in another form than Keystone does. Is auth_url "
                               "the address of an identity service, version 3?") from error


def _refusal(access: CloudAccess, reply: local_access.Reply) -> errors.CloudError:
    said = message_in(reply)
    if reply.status >= 500 or reply.status == 429:
        return errors.NotBegun(f"Keystone of {access} gave no token: {reply.status} {said}")
    if access.login.trust and reply.status in (403, 404):
        return errors.Permanent(f"{_TRUST_GONE} Keystone says: {said}")
    if access.login.is_given:
        return errors.Permanent(f"Keystone of {access} does not accept the token any more: {said} Ask for a new one.")
    if reply.status == 404:
        return errors.Permanent(f"There is no identity service of version 3 at {access.auth_url}: {said}")
    return errors.Permanent(f"Keystone of {access} refused the {access.login.method.replace('_', ' ')} of "
                            f"{_who(access)}: {said}")


def _who(access: CloudAccess) -> str:
    login = access.login
    who = f"user {login.user}" if login.user else f"the entry {login.application}" if login.application else "the entry"
    return f"{who} for project {login.project}" if login.project and not login.trust else who


def message_in(reply: local_access.Reply) -> str:
    """Return the words of a service in the body of an error, or the body's beginning."""
    try:
        body = json.loads(reply.body)
    except ValueError:
        return reply.body[:200].decode("utf-8", "replace").strip() or f"status {reply.status}"
    # Services wrap the message in one key of any name: error, itemNotFound, NeutronError.
    inner = next((one for one in body.values() if isinstance(one, Mapping)), body) if isinstance(body, Mapping) else {}
    return str(inner.get("message") or inner.get("faultstring") or inner.get("description") or body)[:2000]
