"""All requests: versions, methods, bodies, error envelopes, addresses of stacks, authentication."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from isotherm.api import routes
from tests.api.conftest import ROOT, Api, fault, resource, template

VERSIONS = {"versions": [{"id": "v1.0", "status": "CURRENT", "links": [{"rel": "self", "href": f"{ROOT}/v1/"}]}]}
ACCEPT = "application/vnd.openstack.orchestration-v1"


@pytest.fixture(scope="module")
def stack(shared: Api) -> Any:
    """Create a stack; return its path and id."""
    path = shared.create("s", {"a": resource()})
    return path, path.rpartition("/")[2]


def test_a_stack_from_its_creation_to_its_end(api: Api) -> None:
    path = api.create("s", {"a": resource()})
    assert api.get(path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert api.delete(path).status_code == 204
    assert api.end(path)["stack_status"] == "DELETE_COMPLETE"


# Versions.


@pytest.mark.parametrize("path", ["/", "/versions", "/v2", "/v2/default/stacks", "/v3.1/x"])
def test_versions_need_no_token(shared: Api, path: Any) -> None:
    answer = shared.ask("GET", ROOT + path, headers={"X-Auth-Token": "wrong"})
    assert (answer.status_code, answer.json()) == (300, VERSIONS)


def test_other_ways_to_say_v1(shared: Api) -> None:
    assert shared.ask("GET", f"{ROOT}/v1.0/default/stacks").status_code == 200
    for accept in (ACCEPT, f"{ACCEPT}.0"):
        assert shared.ask("GET", f"{ROOT}/default/stacks", headers={"Accept": accept}).status_code == 200
    answer = shared.ask("GET", f"{ROOT}/default/stacks", headers={"Accept": "application/json"})
    assert (answer.status_code, form(answer)) == (404, "application/json")


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/default", "/v1/default/nothing", "/v1/default/stacks/a/b/c/d/e"])
def test_where_there_is_nothing(shared: Api, path: Any) -> None:
    answer = shared.ask("GET", ROOT + path)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (404, "text/html")
    assert shared.ask("GET", ROOT + path, headers={"X-Auth-Token": "wrong"}).status_code == 401


def test_health(shared: Api) -> None:
    answer = shared.ask("GET", f"{ROOT}/healthcheck", headers={"X-Auth-Token": "wrong"})
    assert (answer.status_code, answer.text) == (200, "")
    assert answer.headers["content-type"].startswith("text/plain")


# The form of an answer without a result, as Heat chooses it.

FORMS = {
    "application/json": "application/json", "*/*": "text/html", "text/html, application/json": "text/html",
    "text/html;q=0.1, application/json": "application/json", "application/json, */*;q=0.1": "application/json",
    "application/*": "application/json", "text/html;q=0, */*": "application/json", "text/plain": "text/plain",
    "application/json;q=0": "text/plain", "application/json;q=x": "text/plain", "image/*": "text/plain", "": "text/plain",
}


def form(answer: Any) -> Any:
    return answer.headers["content-type"].partition(";")[0]


@pytest.mark.parametrize("accept", FORMS)
def test_an_answer_without_a_result_has_the_form_that_is_accepted(shared: Api, stack: Any, accept: Any) -> None:
    path, id_ = stack
    body = {"template": template({"a": resource()})}
    asked = [("PUT", path, body, 202), ("PATCH", path, body, 202), ("GET", f"/stacks/{id_}", None, 302),
             ("GET", "/nothing", None, 404), ("POST", "/services", None, 404), ("GET", f"{ROOT}/nothing", None, 404),
             ("POST", f"{ROOT}/healthcheck", None, 405)]
    for method, place, given, status in asked:
        answer = shared.ask(method, place, given, headers={"Accept": accept})
        assert (answer.status_code, form(answer)) == (status, FORMS[accept]), place
        if FORMS[accept] == "application/json":
            told = answer.json()
            assert set(told) == {"message", "code", "title"}
            assert told["code"].startswith(f"{status} ")
    shared.end(path)


def test_an_answer_with_a_result_is_json_whatever_is_accepted(shared: Api, stack: Any) -> None:
    path, _ = stack
    for method, place, body in (("GET", path, None), ("POST", f"{path}/actions", {"check": None}),
                                ("GET", "/stacks/none/none", None), ("DELETE", "/stacks", None)):
        assert form(shared.ask(method, place, body, headers={"Accept": "text/html"})) == "application/json"
    shared.end(path)


# Callers and requests.


def test_all_routes_of_the_api_are_there() -> None:
    own = ("/stream", "/drift", "/observe", "/summary", "/summaries", "/graph", "/members", "/why", "/operations",
           "/timeline", "/live", "/plan", "/repair", "/problems", "/load", "/follow", "/tree", "/hooks",
           "/protection", "/forget", "/history", "/history/diff", "/import", "/import/template", "/move")
    words = {r.path for r in routes.TABLE if re.fullmatch(r"/stacks/\{stack_name\}/[a-z]+", r.path)}
    heat = [r for r in routes.TABLE if r.path not in words and not r.path.endswith(own)]
    assert len({(r.method, r.path) for r in heat}) + 2 == 61  # GET and POST with a word after the name count once each
    assert len(words) == 6
    assert len({(r.method, r.path) for r in routes.TABLE}) == len(routes.TABLE)


@pytest.mark.parametrize("route", routes.TABLE, ids=lambda route: f"{route.method} {route.path}")
def test_a_request_without_a_token_is_refused(shared: Api, route: Any) -> None:
    path = re.sub(r"\{arn:arn\}", "arn:openstack:heat::default:stacks/a/b", route.path)
    answer = shared.ask(route.method, re.sub(r"\{[^}]*\}", "x", path), headers={"X-Auth-Token": "wrong"})
    assert answer.status_code == 401
    assert answer.json() == {"error": {"code": 401, "title": "Unauthorized",
                                       "message": "The request you have made requires authentication."}}
    assert answer.headers["WWW-Authenticate"].startswith("Keystone uri=")


@pytest.mark.parametrize("route", routes.TABLE, ids=lambda route: f"{route.method} {route.path}")
def test_no_route_serves_the_project_of_another_user(shared: Api, route: Any) -> None:
    path = re.sub(r"\{[^}]*\}", "x", re.sub(r"\{arn:arn\}", "arn:openstack:heat::default:stacks/a/b", route.path))
    with shared.somebody("elsewhere"):
        answer = shared.ask(route.method, f"{ROOT}/v1/default{path}")
    assert fault(answer) == (403, "HTTPForbidden", "Access was denied to this resource.")


def test_a_rule_that_forbids(shared: Api) -> None:
    shared.rules.forbidden.add("stacks:index")
    try:
        assert fault(shared.get("/stacks")) == (403, "Forbidden", "You are not authorized to use stacks:index.")
    finally:
        shared.rules.forbidden.clear()


def test_every_answer_has_an_id(shared: Api) -> None:
    for path in ("/stacks", "/stacks/none/none", "/nothing"):
        assert re.fullmatch(r"req-[0-9a-f-]{36}", shared.get(path).headers["x-openstack-request-id"])


def test_methods(shared: Api, stack: Any) -> None:
    answer = shared.ask("OPTIONS", stack[0])
    assert (answer.status_code, answer.headers["Allow"]) == (204, "GET,PUT,PATCH,DELETE")
    assert shared.ask("OPTIONS", "/stacks").headers["Allow"] == "GET,POST"
    answer = shared.ask("DELETE", "/stacks")
    assert fault(answer)[:2] == (405, "HTTPMethodNotAllowed")
    assert "Allow" not in answer.headers
    assert shared.ask("HEAD", stack[0]).status_code == 405


def test_a_body_that_is_too_big(with_options: Callable[..., Api]) -> None:
    api = with_options(max_json_body_size=1000)
    assert fault(api.post("/stacks", {"stack_name": "x" * 1000}))[:2] == (400, "RequestLimitExceeded")


def test_the_envelope(shared: Api) -> None:
    told = shared.get("/stacks/none/7").json()
    assert told == {"code": 404, "title": "Not Found", "explanation": "The resource could not be found.",
                    "error": {"type": "EntityNotFound", "traceback": None,
                              "message": "The Stack (none) could not be found."},
                    "problems": [{"message": "The Stack (none) could not be found.", "kind": "EntityNotFound", "label": "",
                                  "path": "", "hint": "", "mark": None}]}
    told = shared.post("/stacks", {"stack_name": "s", "template": template({})})
    assert told.status_code in (201, 409)


# Addresses of stacks.


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_by_name_by_id_and_by_arn(shared: Api, stack: Any, method: Any) -> None:
    path, id_ = stack
    arn = f"arn:openstack:heat::default:stacks/s/{id_}"
    for identity in ("s", id_, arn, quote(arn, safe="")):
        answer = shared.ask(method, f"/stacks/{identity}?a=1&b=x%20y")
        assert answer.status_code == 302, (identity, answer.text)
        assert answer.headers["Location"] == f"{ROOT}/v1/default{path}?a=1&b=x%20y"


@pytest.mark.parametrize(("method", "part"), [
    *(("GET", part) for part in ("resources", "events", "template", "actions", "environment", "files")),
    *(("POST", part) for part in ("resources", "events", "template", "actions"))])
def test_what_comes_after_the_name_stays(shared: Api, stack: Any, method: Any, part: Any) -> None:
    answer = shared.ask(method, f"/stacks/s/{part}?limit=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{ROOT}/v1/default{stack[0]}/{part}?limit=1")


def test_what_comes_after_an_arn_stays(shared: Api, stack: Any) -> None:
    answer = shared.get(f"/stacks/arn:openstack:heat::default:stacks/s/{stack[1]}/resources/a")
    assert answer.headers["Location"] == f"{ROOT}/v1/default{stack[0]}/resources/a"


def test_addresses_that_lead_nowhere(shared: Api, stack: Any) -> None:
    assert fault(shared.get("/stacks/none")) == (404, "EntityNotFound", "The Stack (none) could not be found.")
    assert fault(shared.get(f"/stacks/arn:openstack:heat::default:stacks/other/{stack[1]}"))[0] == 404
    assert fault(shared.get(f"/stacks/arn:openstack:heat::foreign:stacks/s/{stack[1]}"))[:2] == (404, "EntityNotFound")
    with shared.somebody("default"):
        assert fault(shared.get(f"/stacks/arn:openstack:heat::foreign:stacks/s/{stack[1]}")) == (
            403, "InvalidTenant", "Searching Tenant foreign from Tenant default forbidden.")
    assert fault(shared.get("/stacks/arn:openstack:heat::default:nonsense"))[0] == 400
    for part in ("outputs", "snapshots", "export", "abandon"):
        assert fault(shared.get(f"/stacks/s/{part}"))[0] == 404
