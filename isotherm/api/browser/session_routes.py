"""Serves `/ui/session`: who is logged in, log in, log out. It is below no project, so it is not in the table of routes."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import isotherm
from isotherm.api.browser import cookies, origins
from isotherm.api.browser.access import PageAccess
from isotherm.api.browser.sessions import SessionAuthenticator
from isotherm.api.http import bodies, faults, responses
from isotherm.api.policy.enforcer import Policy
from isotherm.config import Settings
from isotherm.identity.caller import Caller

PATH = "/ui/session"
_MOST = 16 << 10
_NO_STORE = {"Cache-Control": "no-store"}


class SessionEndpoint:
    """Serves the sessions of browsers."""

    def __init__(self, access: PageAccess, authenticator: SessionAuthenticator, policy: Policy, settings: Settings) -> None:
        self._access = access
        self._authenticator = authenticator
        self._policy = policy
        self._settings = settings

    async def serve(self, request: Request) -> Response:
        request.scope["state"]["route"] = PATH
        try:
            response = await self._serve(request)
        except Exception as error:  # noqa: BLE001 - the outermost edge: every error becomes a response
            response = faults.response(error)
        response.headers.update(_NO_STORE)
        return response

    async def _serve(self, request: Request) -> Response:
        if not origins.is_served(request, self._settings):
            raise faults.forbidden("The page is not served under this host name.", "Forbidden")
        if not origins.is_from_page(request):
            raise faults.forbidden(f"The request does not come from the page: {origins.PAGE_HEADER} is missing, or its "
                                   "origin is another.", "Forbidden")
        if request.method == "GET":
            return await self._show(request)
        if request.method == "POST":
            return await self._log_in(request)
        return await self._log_out(request)

    async def _show(self, request: Request) -> Response:
        try:
            shown = await self._described(request, cookies.read(request))
        except faults.Unauthorized:
            shown = None
        return responses.json({"session": shown, "login": self._access.login.kind, "version": isotherm.__version__})

    async def _log_in(self, request: Request) -> Response:
        body = await bodies.read(request, _MOST)
        if body is None:
            raise faults.bad_request()
        address = request.client.host if request.client else ""
        cookie = await self._access.login.begin(address, body)
        if cookie is None:
            raise faults.Unauthorized()
        # The session of an earlier login ends: its cookie is overwritten.
        if before := cookies.read(request):
            await self._access.sessions.end(before)
        shown = await self._described(request, cookie)
        response = responses.json({"session": shown}, 201)
        cookies.write(request, response, cookie, max(0.0, shown["until"] - self._access.sessions.clock.now()))
        return response

    async def _log_out(self, request: Request) -> Response:
        if cookie := cookies.read(request):
            await self._access.sessions.end(cookie)
        response = responses.no_content()
        cookies.remove(request, response)
        return response

    async def _described(self, request: Request, cookie: str) -> dict[str, Any]:
        """Return the session of a cookie as the page shows it. Raises Unauthorized if it is over."""
        session = await self._access.sessions.find(cookie) if cookie else None
        if session is None:
            raise faults.Unauthorized()
        caller = await self._authenticator.caller_of(request, cookie, session)
        return {"project": session.project, "project_name": caller.project_name or session.project,
                "user": caller.user_name, "roles": sorted(caller.roles), "until": session.until,
                "operator": self._is_operator(caller)}

    def _is_operator(self, caller: Caller) -> bool:
        return self._policy.allows("service:index", caller, {"project_id": caller.project})
