"""The OpenAPI document: complete, valid, and served without a token."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from isotherm.api import routes
from isotherm.api.monitoring import health
from isotherm.api.openapi import document, fields
from isotherm.cli.service.api import api as command
from isotherm.cli.show import console
from tests.api.conftest import ROOT, Api

DOCUMENT = document.document()
OPEN = {health.ALIVE, health.READY, health.METRICS, document.PATH}
EVERY = [*routes.TABLE, *routes.SIGNED]


def named(route: Any) -> Any:
    return f"{route.method} {route.path}"


@pytest.mark.parametrize("route", EVERY, ids=named)
def test_every_route_is_in_it(route: Any) -> None:
    told = DOCUMENT["paths"][document.path_of(route)][route.method.lower()]
    inside = {one["name"] for one in told["parameters"] if one["in"] == "path"}
    assert inside == {"project", *(name.replace("arn:arn", "stack_name") for name in re.findall(r"{([^}]+)}", route.path))}
    assert told.get("x-policy-rule", "signed") == route.rule
    assert ("security" in told) == (route.rule == "signed")
    assert str(fields.RESPONSES[route.handler].status) in told["responses"]


def test_nothing_else_is_in_it() -> None:
    told = {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert told == {
        *((document.path_of(route), route.method.lower()) for route in EVERY),
        *((path, "get") for path in OPEN),
    }


def test_what_it_says_is_said_of_handlers_that_there_are() -> None:
    handlers = {route.handler for route in EVERY}
    assert set(fields.RESPONSES) == handlers
    assert {*fields.QUERIES, *fields.BODIES} <= handlers


def test_it_is_one_document() -> None:
    """Every reference resolves, and operation ids are unique."""
    text = json.dumps(DOCUMENT)
    for kind, name in re.findall(r'"#/components/([a-z]+)/([A-Za-z0-9]+)"', text):
        assert name in DOCUMENT["components"][kind]
    ids = [one["operationId"] for methods in DOCUMENT["paths"].values() for one in methods.values()]
    assert len(ids) == len(set(ids))


def test_the_document_needs_no_token(shared: Api) -> None:
    shared.create("a-name-of-somebody")
    answer = shared.ask("GET", ROOT + document.PATH, headers={"X-Auth-Token": "wrong"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == json.loads(json.dumps(DOCUMENT))
    assert "a-name-of-somebody" not in answer.text


def test_it_is_printed() -> None:
    result = CliRunner().invoke(command, ["--openapi"], obj=console.Printer())
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads(json.dumps(DOCUMENT))
