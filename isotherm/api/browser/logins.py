"""The ways to log in at the page: a one-time code of this machine's user, or a password of Keystone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from isotherm.api.http import faults
from isotherm.identity.page_sessions import GivenToken, LoginForm, SessionStore

# Attempts for each address and user within a window.
ATTEMPTS, WINDOW_S = 5, 60.0
# Addresses and users that are counted at once.
_COUNTED = 10_000
_LONGEST = 1024
_FIELDS = ("user", "password", "user_domain", "project", "project_domain")


class PageLogin(Protocol):
    """Port: one way to log in. `begin` returns the cookie of a new session; None if the login is refused."""

    kind: str

    async def begin(self, address: str, body: Mapping[str, Any]) -> str | None: ...


class TokenSource(Protocol):
    """Port: returns a token for a form; None if it is refused."""

    async def token(self, form: LoginForm) -> GivenToken | None: ...


class Throttle:
    """Limits failed attempts by address and user."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._windows: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def check(self, address: str, user: str) -> None:
        """Count an attempt. Raise a fault of status 429 beyond the limit."""
        now = self._now()
        for key, most in _counted(address, user):
            began, count = self._windows.pop(key, (now, 0))
            if now - began >= WINDOW_S:
                began, count = now, 0
            self._windows[key] = (began, count + 1)
            if count >= most:
                wait = max(1, int(began + WINDOW_S - now) + 1)
                raise faults.Fault(429, "Too many attempts to log in.", "RequestLimitExceeded", {"Retry-After": str(wait)})
        while len(self._windows) > _COUNTED:
            self._windows.popitem(last=False)

    def clear(self) -> None:
        self._windows.clear()

    def forgive(self, address: str, user: str) -> None:
        """Take back an attempt that succeeded: it counted until then, so that attempts at once do not pass the limit."""
        for key, _ in _counted(address, user):
            if key in self._windows:
                began, count = self._windows[key]
                self._windows[key] = (began, max(0, count - 1))


def _counted(address: str, user: str) -> tuple[tuple[tuple[str, str], int], ...]:
    # Many names from one address count too, with ten times the limit.
    return (((address, user), ATTEMPTS), ((address, ""), ATTEMPTS * 10))


class CodeLogin:
    """Logs in with the code in the link that `isotherm up` and `isotherm open` print."""

    kind = "code"

    def __init__(self, sessions: SessionStore) -> None:
        self._sessions = sessions
        self.throttle = Throttle(sessions.clock.now)

    async def begin(self, address: str, body: Mapping[str, Any]) -> str | None:
        code = body.get("code")
        if not isinstance(code, str):
            raise faults.bad_request("code must be a text.")
        self.throttle.check(address, "code")
        project = await self._sessions.redeem(code)
        if project is None:
            return None
        self.throttle.forgive(address, "code")
        return (await self._sessions.begin(project))[0]


class PasswordLogin:
    """Logs in with a user name and a password of Keystone. The password is not kept."""

    kind = "keystone"

    def __init__(self, sessions: SessionStore, keystone: TokenSource) -> None:
        self._sessions = sessions
        self._keystone = keystone
        self.throttle = Throttle(sessions.clock.now)

    async def begin(self, address: str, body: Mapping[str, Any]) -> str | None:
        form = _form(body)
        user = f"{form.user_domain}/{form.user}"
        self.throttle.check(address, user)
        given = await self._keystone.token(form)
        if given is None:
            return None
        self.throttle.forgive(address, user)
        return (await self._sessions.begin(given.project, given.token, given.until))[0]


def _form(body: Mapping[str, Any]) -> LoginForm:
    given = {name: body[name] for name in _FIELDS if name in body}
    found = {"user_domain": "Default", "project_domain": "Default", **given}
    if set(found) != set(_FIELDS) or not all(isinstance(one, str) and 0 < len(one) <= _LONGEST for one in found.values()):
        raise faults.bad_request(f"The body must have these fields, each a text: {', '.join(_FIELDS)}.")
    return LoginForm(**found)
