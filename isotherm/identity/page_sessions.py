"""Sessions of browsers: a random cookie stands for a caller, whose token never enters the browser.

They are rows of the database, so that a session outlives the process, and all processes of the API know it.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import NamedTuple

from isotherm.resources import contract
from isotherm.store import page_sessions
from isotherm.store.database.writer import Store
from isotherm.store.page_sessions import PageSession

__all__ = ["GivenToken", "LoginForm", "PageSession", "SessionStore"]

CODE_S = 60.0
# A session ends after this time, or with its token.
SESSION_S = 12 * 3600.0
# Longer values are not looked up.
_LONGEST = 200


class LoginForm(NamedTuple):
    """The fields that a user of Keystone enters."""

    user: str
    password: str
    user_domain: str
    project: str
    project_domain: str


class GivenToken(NamedTuple):
    """A token of Keystone, with its project and the moment when it ends."""

    project: str
    token: str
    until: float


@dataclass(frozen=True, slots=True)
class SessionStore:
    """Keeps sessions and one-time codes by their hashes."""

    store: Store
    clock: contract.Clock

    async def new_code(self, project: str) -> str:
        """Return a new code, which is good for one login within a minute."""
        code, now = secrets.token_urlsafe(16), self.clock.now()
        row = PageSession(project, "", now + CODE_S)
        await self.store.write(lambda connection: page_sessions.add(connection, _hash(code), row, now, is_code=True))
        return code

    async def redeem(self, code: str) -> str | None:
        """Use up a code. Return its project; None for a code that is wrong, over or used."""
        if len(code) > _LONGEST:
            return None
        now = self.clock.now()
        return await self.store.write(lambda connection: page_sessions.redeem(connection, _hash(code), now))

    async def begin(self, project: str, token: str = "", until: float | None = None) -> tuple[str, PageSession]:
        """Begin a session; return its cookie, which was never used before, and the session."""
        cookie, now = secrets.token_urlsafe(32), self.clock.now()
        latest = now + SESSION_S
        session = PageSession(project, token, latest if until is None else min(until, latest))
        await self.store.write(lambda connection: page_sessions.add(connection, _hash(cookie), session, now))
        return cookie, session

    async def find(self, cookie: str) -> PageSession | None:
        if len(cookie) > _LONGEST:
            return None
        now = self.clock.now()
        return await self.store.read(lambda connection: page_sessions.find(connection, _hash(cookie), now))

    async def end(self, cookie: str) -> None:
        await self.store.write(lambda connection: page_sessions.end(connection, _hash(cookie)))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
