"""Authentication by a session's cookie, in front of the service's own authenticator.

A token in the request always wins: clients with a token never depend on cookies.
"""

from __future__ import annotations

from starlette.requests import Request

from isotherm.api.auth import standalone
from isotherm.api.auth.standalone import Authenticator
from isotherm.api.browser import cookies, origins
from isotherm.api.http import faults
from isotherm.config import Settings
from isotherm.identity.caller import Caller
from isotherm.identity.page_sessions import PageSession, SessionStore

_TOKEN = b"x-auth-token"


class SessionAuthenticator:
    """Authenticates requests with a token by `inner`, and requests of the page by their session."""

    def __init__(self, inner: Authenticator, sessions: SessionStore, settings: Settings) -> None:
        self._inner = inner
        self._sessions = sessions
        self._settings = settings

    async def authenticate(self, request: Request) -> Caller:
        cookie = "" if _TOKEN.decode() in request.headers else cookies.read(request)
        if not cookie:
            return await self._inner.authenticate(request)
        if not origins.is_from_page(request) or not origins.is_served(request, self._settings):
            raise faults.Unauthorized()
        session = await self._sessions.find(cookie)
        if session is None:
            raise faults.Unauthorized()
        # An answer to a cookie must not stay in the browser's cache after the logout.
        request.scope["state"]["by_cookie"] = True
        return await self.caller_of(request, cookie, session)

    async def caller_of(self, request: Request, cookie: str, session: PageSession) -> Caller:
        """Return the caller of a session. A session whose token has ended ends too."""
        if not session.token:
            return standalone.owner()
        try:
            return await self._inner.authenticate(_with_token(request, session.token))
        except faults.Unauthorized:
            await self._sessions.end(cookie)
            raise


def _with_token(request: Request, token: str) -> Request:
    headers = [*request.scope["headers"], (_TOKEN, token.encode("ascii"))]
    return Request({**request.scope, "headers": headers})
