"""The application: version, authentication and policy before the handler, an envelope for whatever goes wrong.

The order is the same for every route, and no route can leave a step out: they are all served by `_serve`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from isotherm import errors
from isotherm.api import routes
from isotherm.api.auth import stack_users
from isotherm.api.auth.standalone import Authenticator
from isotherm.api.http import faults, responses
from isotherm.api.http.early_close import EarlyClose
from isotherm.api.monitoring import health
from isotherm.api.monitoring.metrics import Metrics
from isotherm.api.monitoring.requests import RequestMonitor
from isotherm.api.openapi import document
from isotherm.api.policy.enforcer import Policy
from isotherm.api.request.call import Call
from isotherm.api.request.service import Service
from isotherm.identity.caller import Caller

# How often a request that only looks is served anew when what it looks at has moved on.
READ_ATTEMPTS = 5
ACCEPTED = ("application/vnd.openstack.orchestration-v1", "application/vnd.openstack.orchestration-v1.0")


class _Arn(Convertor[str]):
    """An address in Heat's long form, which holds slashes."""

    regex = "arn:openstack:heat::.*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("arn", _Arn())


def build(service: Service, authenticator: Authenticator, policy: Policy) -> ASGIApp:
    """The whole API as an ASGI application."""
    places = [
        StarletteRoute(f"/v1/{{project}}{path}", _Endpoint(service, authenticator, policy, methods))
        for path, methods in _by_path().items()
    ]
    metrics = Metrics()
    open_ = [*health.routes(service, metrics), document.route()]
    inner = Starlette(routes=[*open_, *places, StarletteRoute("/v1{rest:path}", _UnknownPath(authenticator))],
                      exception_handlers={HTTPException: _refused})
    inner.router.redirect_slashes = False
    return RequestMonitor(EarlyClose(Versions(inner)), metrics)


def _by_path() -> dict[str, dict[str, routes.Route]]:
    found: dict[str, dict[str, routes.Route]] = {}
    for route in (*routes.TABLE, *routes.SIGNED):
        found.setdefault(route.path, {})[route.method] = route
    return found


class _UnknownPath:
    """Where there is nothing; which is nobody's business who is not known."""

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
    """Answer for a path or a method that the router does not know, outside the table of routes."""
    assert isinstance(error, HTTPException)
    return responses.status_page(request, error.status_code, error.headers)


class _Endpoint:
    """All that can be asked of one path."""

    def __init__(self, service: Service, authenticator: Authenticator, policy: Policy,
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
        except Exception as error:  # noqa: BLE001 - the outermost edge: everything becomes an answer
            response = faults.response(error)
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
        """Return who asks, if the project of the path is open to the caller."""
        caller = await self._authenticator.authenticate(request)
        if request.path_params["project"] != caller.project and not caller.is_admin:
            raise faults.forbidden()
        return caller

    def _check(self, route: routes.Route, caller: Caller, request: Request) -> None:
        """Refuse a caller who may not use the route."""
        stack_users.check(route, caller, request.path_params)
        self._policy.check(route.rule, caller, {"project_id": request.path_params["project"]})

    async def _serve_signed(self, request: Request) -> Response:
        """Nobody asks by name here: the handler looks at the signature, before it looks at anything else."""
        route = self._methods.get(request.method)
        if route is None:
            raise faults.forbidden()
        caller = Caller(request.path_params["project"])

        async def admit() -> Caller:
            return caller

        return await route.handler(Call(request, caller, self._service, self._policy, admit))


async def _answer_stable(route: routes.Route, call: Call) -> Response:
    """The handler's answer. Who only looks is not bothered with what happened between two looks: it looks again."""
    for _ in range(READ_ATTEMPTS if route.method == "GET" else 0):
        with contextlib.suppress(errors.Overtaken):
            return await route.handler(call)
    return await route.handler(call)


class Versions:
    """Version negotiation."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        # The path as it was sent is what a signature is for.
        scope.setdefault("state", {})["raw_path"] = scope.get("raw_path") or b""
        await self._dispatch(scope)(scope, receive, send)

    def _dispatch(self, scope: Scope) -> ASGIApp:
        path = scope["path"]
        first = path.split("/", 2)[1] if path.startswith("/") else ""
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
