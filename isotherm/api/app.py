"""The ASGI application: version negotiation, authentication and policy before the handler, error responses after it.

`_Endpoint._serve` serves every route, so no route can skip a step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from isotherm import errors
from isotherm.api import cfn, routes
from isotherm.api.auth import stack_users
from isotherm.api.auth.standalone import Authenticator
from isotherm.api.browser import routes as browser
from isotherm.api.browser.access import PageAccess
from isotherm.api.browser.sessions import SessionAuthenticator
from isotherm.api.http import faults, responses
from isotherm.api.http.early_close import EarlyClose
from isotherm.api.monitoring import health
from isotherm.api.monitoring.metrics import RequestMetrics
from isotherm.api.monitoring.requests import RequestMonitor
from isotherm.api.openapi import document
from isotherm.api.policy.enforcer import Policy
from isotherm.api.request.call import Call
from isotherm.api.request.service import ApiPorts
from isotherm.identity.caller import Caller

# Attempts to serve a GET whose stack changes while it is read.
READ_ATTEMPTS = 5
ACCEPTED = ("application/vnd.openstack.orchestration-v1", "application/vnd.openstack.orchestration-v1.0")


class _Arn(Convertor[str]):
    """Matches an ARN, Heat's long form of a stack's address, which contains slashes."""

    regex = "arn:openstack:heat::.*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("arn", _Arn())


def build(service: ApiPorts, authenticator: Authenticator, policy: Policy, page: PageAccess | None = None) -> ASGIApp:
    """Build the API as an ASGI application; with `page`, also the page."""
    beside: list[BaseRoute] = []
    if page is not None:
        sessions = SessionAuthenticator(authenticator, page.sessions, service.settings)
        beside = browser.routes(page, sessions, policy, service.settings)
        authenticator = sessions
    mounted = [
        StarletteRoute(f"/v1/{{project}}{path}", _Endpoint(service, authenticator, policy, methods))
        for path, methods in _by_path().items()
    ]
    probes = health.routes(service.gauges, service.metrics, serves_metrics=service.settings.metrics)
    open_ = [*probes, document.route(), cfn.route(service, policy)]
    inner = Starlette(routes=[*open_, *beside, *mounted, StarletteRoute("/v1{rest:path}", _UnknownPath(authenticator))],
                      exception_handlers={HTTPException: _refused})
    inner.router.redirect_slashes = False
    return RequestMonitor(EarlyClose(Versions(inner, has_page=page is not None)),
                          RequestMetrics(service.metrics.registry))


def _by_path() -> dict[str, dict[str, routes.Route]]:
    found: dict[str, dict[str, routes.Route]] = {}
    for route in (*routes.TABLE, *routes.SIGNED):
        found.setdefault(route.path, {})[route.method] = route
    return found


class _UnknownPath:
    """Answers 404 for an unknown path, after authentication: an unauthenticated caller gets 401."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            await self._authenticator.authenticate(request)
            response = responses.status_page(request, 404)
        except Exception as error:  # noqa: BLE001 - as below
            response = faults.response(error)
        await response(scope, receive, send)


async def _refused(request: Request, error: Exception) -> Response:
    """Answer for a path or a method that is neither below /v1 nor in the table of routes."""
    assert isinstance(error, HTTPException)
    return responses.status_page(request, error.status_code, error.headers)


class _Endpoint:
    """Serves one path, with all its methods."""

    def __init__(self, service: ApiPorts, authenticator: Authenticator, policy: Policy,
                 methods: Mapping[str, routes.Route]) -> None:
        self._service = service
        self._authenticator = authenticator
        self._policy = policy
        self._methods = methods
        self._path = next(iter(methods.values())).path
        self._signed = all(route in routes.SIGNED for route in methods.values())
        self._silent = any(route.path in routes.SILENT for route in methods.values())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._serve(request)
        except Exception as error:  # noqa: BLE001 - the outermost edge: every error becomes a response
            response = faults.response(error)
        if request.scope["state"].get("by_cookie"):
            response.headers.setdefault("Cache-Control", "no-store")
        await response(scope, receive, send)

    async def _serve(self, request: Request) -> Response:
        state = request.scope["state"]
        state["route"] = self._path
        if self._signed:
            return await self._serve_signed(request)
        caller = state["caller"] = await self._known(request)
        if request.method == "OPTIONS" and caller.stack_user is None:
            return Response(status_code=204, headers={"Allow": ",".join(self._methods)})
        route = self._methods.get(request.method)
        if route is None and self._silent:
            return responses.status_page(request, 404)
        if route is None:
            raise faults.Fault(405, faults.MALFORMED, "HTTPMethodNotAllowed")
        state["rule"] = route.rule
        self._check(route, caller, request)

        async def admit() -> Caller:
            again = await self._known(request)
            self._check(route, again, request)
            return again

        return await _answer_stable(route, Call(request, caller, self._service, self._policy, admit))

    async def _known(self, request: Request) -> Caller:
        """Return the caller. Refuse a caller who may not use the project of the path."""
        given = await self._authenticator.authenticate(request)
        caller = await stack_users.recognised(given, self._service)
        if request.path_params["project"] not in (given.project, caller.project) and not caller.is_admin:
            raise faults.forbidden()
        if caller.stack_user is not None:
            # The project of its token is that of stack users; its resource is in the project of the stack.
            request.path_params["project"] = caller.project
        return caller

    def _check(self, route: routes.Route, caller: Caller, request: Request) -> None:
        """Refuse a caller whom the policy does not let use the route."""
        stack_users.check(route, caller, request.path_params)
        self._policy.check(route.rule, caller, {"project_id": request.path_params["project"]})

    async def _serve_signed(self, request: Request) -> Response:
        """Serve a route without a token. Its handler checks the signature before anything else."""
        route = self._methods.get(request.method)
        if route is None:
            raise faults.forbidden()
        caller = Caller(request.path_params["project"])

        async def admit() -> Caller:
            return caller

        return await route.handler(Call(request, caller, self._service, self._policy, admit))


async def _answer_stable(route: routes.Route, call: Call) -> Response:
    """Return the handler's response. A GET is repeated if a newer operation replaced what it was reading."""
    for _ in range(READ_ATTEMPTS if route.method == "GET" else 0):
        with contextlib.suppress(errors.Overtaken):
            return await route.handler(call)
    return await route.handler(call)


class Versions:
    """Negotiates the API version, by path or by the Accept header."""

    def __init__(self, inner: ASGIApp, *, has_page: bool = False) -> None:
        self._inner = inner
        self._has_page = has_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        # A signature covers the path as it was sent, byte by byte.
        scope.setdefault("state", {})["raw_path"] = scope.get("raw_path") or b""
        await self._dispatch(scope)(scope, receive, send)

    def _dispatch(self, scope: Scope) -> ASGIApp:
        path = scope["path"]
        first = path.split("/", 2)[1] if path.startswith("/") else ""
        if path == "/" and self._has_page and scope["method"] == "GET" and _wants_html(scope):
            return Response(b"", 303, {**responses.SAFE, "Location": "/ui/", "Vary": "Accept"})
        if path in ("/", "/versions") or (first[:1] == "v" and first[1:2].isdigit() and first not in ("v1", "v1.0")):
            return self._versions(scope)
        if first == "v1.0":
            scope["path"] = "/v1" + path[len("/v1.0"):]
        elif first != "v1" and _accepts(scope):
            scope["path"] = "/v1" + path
        scope["raw_path"] = scope["path"].encode("utf-8", "surrogateescape")
        return self._inner

    @staticmethod
    def _versions(scope: Scope) -> Response:
        root = str(Request(scope).base_url).rstrip("/")
        links = [{"rel": "self", "href": f"{root}/v1/"}]
        return responses.json({"versions": [{"id": "v1.0", "status": "CURRENT", "links": links}]}, 300)


def _accepts(scope: Scope) -> bool:
    return Request(scope).headers.get("accept", "").partition(";")[0].strip() in ACCEPTED


def _wants_html(scope: Scope) -> bool:
    """Return whether the client names HTML, as browsers do; a client that accepts anything gets the versions."""
    return "text/html" in Request(scope).headers.get("accept", "")
