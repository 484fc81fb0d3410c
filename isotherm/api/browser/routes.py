"""The routes of the page: `/ui/session`, the files of the built page, and the way from `/` for browsers."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from isotherm.api.browser import origins, session_routes
from isotherm.api.browser.access import PageAccess
from isotherm.api.browser.session_routes import SessionEndpoint
from isotherm.api.browser.sessions import SessionAuthenticator
from isotherm.api.http import responses
from isotherm.api.policy.enforcer import Policy
from isotherm.config import Settings
from isotherm.web import headers
from isotherm.web.files import BuiltPage

_READS = ["GET", "HEAD"]


def routes(
    page: PageAccess, authenticator: SessionAuthenticator, policy: Policy, settings: Settings
) -> list[BaseRoute]:
    """Return the routes that are beside the table of routes."""
    session = SessionEndpoint(page, authenticator, policy, settings)
    files = PageFiles(settings, BuiltPage())
    return [
        Route(session_routes.PATH, session.serve, methods=["GET", "POST", "DELETE"]),
        Route("/ui", files.to_front, methods=_READS),
        Route("/ui/{path:path}", files.serve, methods=_READS),
    ]


class PageFiles:
    """Serves the built page to requests for a host name of this service."""

    def __init__(self, settings: Settings, built: BuiltPage) -> None:
        self._settings = settings
        self._built = built

    async def to_front(self, request: Request) -> Response:
        return Response(b"", 303, {**headers.SAFE, "Location": "/ui/"})

    async def serve(self, request: Request) -> Response:
        if not origins.is_served(request, self._settings):
            return responses.status_page(request, 403, headers.SAFE, "The page is not served under this host name.")
        return self._built.response(request.path_params["path"], request)
