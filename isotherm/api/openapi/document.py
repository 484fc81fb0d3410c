"""Generates the OpenAPI document from the table of routes.

It is served without a token: it reveals nothing about the installation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

import isotherm
from isotherm.api import routes
from isotherm.api.http import responses
from isotherm.api.monitoring import health
from isotherm.api.monitoring.requests import ID
from isotherm.api.openapi import fields
from isotherm.api.policy import rules

PATH = "/openapi.json"
TOKEN = "token"
_NAME = re.compile(r"\{([a-z_]+)(:[a-z]+)?\}")
# The document shows an ARN as a stack name; only its slashes make it a route of its own.
_ARN = "{arn:arn}"
_REFUSALS = (400, 403, 404, 409)
_PATHS = {
    "project": "The id of the caller's project; for an administrator, of any project.",
    "stack_name": "The name of the stack. If no id follows: its name, its id, or its ARN.",
    "stack_id": "The id of the stack.",
}
_OPEN = {
    health.ALIVE: ("Check that the process is alive.", fields.ResponseSpec(200, fields.TEXT, "text/plain")),
    health.READY: ("Check that the service is ready for requests.", fields.ResponseSpec(200, fields.MAP)),
    health.METRICS: ("Read metrics in Prometheus' format.", fields.ResponseSpec(200, fields.TEXT, "text/plain")),
    PATH: ("Read this document.", fields.ResponseSpec(200, fields.MAP)),
}


def route() -> StarletteRoute:
    return StarletteRoute(PATH, _serve)


async def _serve(_request: Request) -> Response:
    return Response(text(), 200, responses.SAFE, "application/json")


@cache
def text() -> bytes:
    return msgspec.json.encode(document())


_SIGNED = {**dict.fromkeys(("POST", "PUT"), "Signal a resource by a signed URL."),
           "GET": "Read the metadata of a resource by a signed URL."}


def path_of(route: routes.Route) -> str:
    """Return the path of a route in the document."""
    return "/v1/{project}" + _NAME.sub(r"{\1}", route.path.replace(_ARN, "{stack_name}"))


def document() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in (*routes.TABLE, *routes.SIGNED):
        paths.setdefault(path_of(route), {})[route.method.lower()] = _operation(route)
    for path, (summary, answer) in _OPEN.items():
        paths[path] = {"get": {"operationId": _id("get", path), "summary": summary, "security": [],
                               "responses": {str(answer.status): _answer(answer)}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Isotherm: Orchestration API", "version": isotherm.__version__,
                 "description": "Heat's Orchestration API v1, and Isotherm's extensions."},
        "paths": paths,
        "components": {"schemas": fields.SCHEMAS, "responses": _refusals(),
                       "securitySchemes": {TOKEN: {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}}},
        "security": [{TOKEN: []}],
    }


def _operation(route: routes.Route) -> dict[str, Any]:
    signed = route in routes.SIGNED
    path = path_of(route)
    described: dict[str, Any] = {
        "operationId": _id(route.method.lower(), path), "tags": [_subject(route)],
        "summary": _SIGNED[route.method] if signed else rules.TABLE[route.rule][1],
        "parameters": [*_in_path(path), *_in_query(route)], "responses": _responses(route),
    }
    if signed:
        described["security"] = []
    else:
        described["x-policy-rule"] = route.rule
    if body := fields.BODIES.get(route.handler):
        described["requestBody"] = {"required": body.required,
                               "content": {"application/json": {"schema": fields.ref(body.schema)}}}
    return described


def _subject(route: routes.Route) -> str:
    return "signals" if route in routes.SIGNED else route.rule.partition(":")[0]


def _id(method: str, path: str) -> str:
    words = re.findall(r"[a-z_0-9]+", path.removeprefix("/v1/{project}"))
    return "_".join([method, *words])


def _in_path(path: str) -> list[dict[str, Any]]:
    return [{"name": name, "in": "path", "required": True, "schema": {**fields.TEXT, "minLength": 1},
             **({"description": _PATHS[name]} if name in _PATHS else {})} for name, _ in _NAME.findall(path)]


def _in_query(route: routes.Route) -> Iterable[dict[str, Any]]:
    for name, schema in fields.QUERIES.get(route.handler, {}).items():
        yield {"name": name, "in": "query", "required": False, "schema": schema}


def _responses(route: routes.Route) -> dict[str, Any]:
    answer = fields.RESPONSES[route.handler]
    statuses = (*_REFUSALS, 413, 429) if route in routes.SIGNED else (401, *_REFUSALS)
    return {str(answer.status): _answer(answer),
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses},
            "5XX": {"$ref": "#/components/responses/5XX"}}


def _answer(answer: fields.ResponseSpec) -> dict[str, Any]:
    described: dict[str, Any] = {"description": HTTPStatus(answer.status).phrase, "headers": _headers(answer.status)}
    if answer.schema is not None:
        described["content"] = {answer.kind: {"schema": answer.schema}}
    return described


def _headers(status: int) -> dict[str, Any]:
    """Return the headers of a response: the request id, and for some statuses the location."""
    names = [ID, *(["location"] if status in (201, 302) else [])]
    return {name: {"schema": fields.TEXT} for name in names}


def _refusals() -> dict[str, Any]:
    def refusal(description: str, schema: str = "Error") -> dict[str, Any]:
        return {"description": description, "content": {"application/json": {"schema": fields.ref(schema)}}}

    return {
        **{str(status): refusal(HTTPStatus(status).phrase) for status in (*_REFUSALS, 413, 429)},
        "401": refusal("The request has no valid token.", "Unauthorized"),
        "5XX": refusal("The service is unavailable, or has a defect."),
    }
