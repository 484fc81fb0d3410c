"""Hostile texts in every place of every route and every body: no answer is a defect, and the service stays up."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from isotherm.api import routes
from isotherm.api.openapi import fields
from tests.api import things
from tests.api.conftest import ROOT, Api, fault, resource, template

# As they stand in an address.
TEXTS = {
    "NUL": "a%00b", "lone surrogate": "%ED%A0%80", "no UTF-8": "%FF%FE", "4 bytes": "%F0%9F%98%80", "10 kB": "x" * 10_000,
    "up": "..%2F..%2Fetc%2Fpasswd", "one dot": "%2e", "two dots": "%2e%2e", "dots, twice quoted": "%252e%252e",
    "newline": "a%0D%0AX-Injected:%20yes", "semicolon": "a;b", "quotes": "'%22%20OR%201=1%20--", "percent": "%25s%25n",
    "a number": "99999999999999999999999", "minus": "-1", "space": "%20", "pattern": "(((((a)*)*)*)*)*%24",
    "markup": "%3Cb%3E",
}
TOKENED = [route for route in routes.TABLE if "{" in route.path]


@pytest.fixture(scope="module")
def known(shared: Api) -> dict[str, str]:
    return things.made(shared)


# Ids of objects that do not exist, so that nothing is deleted by chance.
GONE = {"stack_id": "none", "config_id": "none", "deployment_id": "none"}


@pytest.fixture(autouse=True)
def streams_end(monkeypatch: pytest.MonkeyPatch) -> None:
    things.end_streams(monkeypatch)


def judge(answer: Any, *about: object) -> None:
    assert answer.status_code < 500, (*about, answer.text)
    assert "x-injected" not in answer.headers, about
    assert not any(control in value for value in answer.headers.values() for control in "\r\n\0"), about
    if answer.status_code != 302:
        assert answer.headers["x-content-type-options"] == "nosniff", about
    if answer.status_code >= 400 and answer.headers["content-type"] == "application/json":
        fault(answer)


@pytest.mark.parametrize("route", [*TOKENED, *routes.SIGNED], ids=things.label)
def test_in_the_path(shared: Api, known: dict[str, str], route: routes.Route) -> None:
    for name in ["project", *things.names(route)]:
        for what, text in TEXTS.items():
            # An admin may delete or forget an object of another project by its id.
            there = {**known, **GONE} if name == "project" and things.is_removal(route) else known
            told = {**there, "arn:arn": things.ARN.format(**there), name: text}
            if name == "arn:arn":
                told["arn:arn"] = f"arn:openstack:heat::{text}"
            path = f"{ROOT}/v1/{told['project']}{raw(route, told)}"
            answer = shared.ask(route.method, path)
            judge(answer, name, what)
            # Nothing that does not exist is found by such a name.
            assert answer.status_code >= 300 or name == "project" or route.method == "GET", (name, what)
    assert shared.end(f"/stacks/s/{known['stack_id']}")["stack_status"].endswith("COMPLETE")


def raw(route: routes.Route, told: dict[str, str]) -> str:
    path = route.path
    for name in things.names(route):
        path = path.replace("{" + name + "}", told[name])
    return path


@pytest.mark.parametrize("route", routes.TABLE, ids=things.label)
def test_in_the_query(shared: Api, known: dict[str, str], route: routes.Route) -> None:
    if things.is_removal(route):
        known = {**known, **GONE}
    path = things.place(route, known)
    for name in [*fields.QUERIES.get(route.handler, {}), "unknown%00%0A"]:
        for what, text in TEXTS.items():
            judge(shared.ask(route.method, f"{path}?{name}={text}&{name}=&{name}={text}"), name, what)


# Bodies: each part of one that is right is replaced by each of these.
VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, "", "\0", "a\r\nb", "\U0001f600", "x" * 10_000, "../..", "{get_param: p}", [], {},
    [None], [[]], {"": None}, {"get_param": "none"}, {"get_resource": []}, {"get_attr": {}}, {"str_replace": None},
    {"a": {"b": {}}},
]
INSIDE = json.dumps(template({"i": resource()}))
WHOLE: dict[str, Any] = {
    "stack_name": "whole", "timeout_mins": 5, "disable_rollback": True, "tags": "a,b", "parameters": {"p": "x"},
    "environment": {"parameter_defaults": {"q": 1}, "resource_registry": {"My::R": "inside.yaml", "resources": {
        "r": {"hooks": "pre-create", "restricted_actions": "replace"}}}, "event_sinks": []},
    "files": {"inside.yaml": INSIDE},
    "template": {
        "heat_template_version": "2021-04-16", "description": "d",
        "parameters": {"p": {"type": "string", "default": "x", "label": "l", "hidden": True, "constraints": [
            {"length": {"min": 0, "max": 9}, "description": "e"}, {"allowed_pattern": ".*"}]}, "q": {"type": "number"}},
        "parameter_groups": [{"label": "g", "parameters": ["p"]}],
        "conditions": {"c": {"equals": [{"get_param": "p"}, "x"]}},
        "resources": {
            "r": {"type": "OS::Heat::TestResource", "condition": "c", "depends_on": ["m"], "deletion_policy": "Delete",
                  "metadata": {"a": 1}, "update_policy": {}, "properties": {"value": {"get_attr": ["m", "output"]}}},
            "m": {"type": "My::R"},
            "g": {"type": "OS::Heat::ResourceGroup", "properties": {
                "count": 1, "resource_def": {"type": "OS::Heat::RandomString", "properties": {"length": 8}}}},
        },
        "outputs": {"o": {"description": "d", "condition": "c", "value": {"str_replace": {
            "template": "a", "params": {"a": {"get_resource": "r"}}}}}},
    },
}
EXPORTED = {"template": template({"r": resource()}), "environment": {"parameters": {}}, "name": "n", "resources": {
    "r": {"name": "r", "resource_id": "x", "type": "OS::Heat::TestResource", "action": "CREATE", "status": "COMPLETE",
          "metadata": {}, "resource_data": {}}}}


def places(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a body, and one in each object that has not been there."""
    yield here
    if isinstance(data, dict):
        yield (*here, "more\0\n")
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for name, value in inside:
        yield from places(value, (*here, name))


def changed(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    result = copy.deepcopy(data)
    inner = result
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return result


def variants(data: Any) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    for place in places(data):
        for value in VALUES:
            yield place, value, changed(data, place, value)


BODIES: dict[str, tuple[str, str, Any]] = {
    "validate": ("POST", "/validate?show_nested=true", WHOLE),
    "preview": ("POST", "/stacks/preview", WHOLE),
    "preview of a change": ("PATCH", "{stack}/preview", {**WHOLE, "clear_parameters": ["p"], "converge": True}),
    "actions": ("POST", "{stack}/actions", {"check": None}),
    "signal": ("POST", "{stack}/resources/handle/signal", {"status": "SUCCESS", "id": "1", "reason": "r", "data": "d"}),
    "hook": ("POST", "{stack}/resources/handle/signal", {"unset_hook": "pre-create"}),
    "unhealthy": ("PATCH", "{stack}/resources/r", {"mark_unhealthy": True, "resource_status_reason": "r"}),
    "config": ("POST", "/software_configs", {"name": "n", "group": "g", "config": "c", "options": {"o": 1}, "inputs": [
        {"name": "i", "type": "String", "default": "", "description": "d", "value": "v", "replace_on_change": False}],
        "outputs": [{"name": "o", "type": "String", "description": "", "error_output": True}]}),
    "deployment": ("PUT", "/software_deployments/{deployment_id}", {"config_id": "{config_id}", "action": "CREATE",
                   "status": "COMPLETE", "status_reason": "r", "input_values": {"a": 1}, "output_values": {"a": 1}}),
    "new deployment": ("POST", "/software_deployments", {"config_id": "{config_id}", "server_id": "s", "action": "CREATE",
                       "status": "COMPLETE", "status_reason": "r", "input_values": {}, "stack_user_project_id": "p"}),
}


@pytest.mark.parametrize("what", BODIES)
def test_in_the_body(shared: Api, known: dict[str, str], what: str) -> None:
    method, path, body = BODIES[what]
    path = path.format(stack=f"/stacks/s/{known['stack_id']}", **known)
    body = {key: known["config_id"] if value == "{config_id}" else value for key, value in body.items()}
    right = shared.ask(method, path, body).status_code
    assert right < 400 or what == "hook"
    # A long body is asked of three routes, which go through the same gate: each has a third of all that can be wrong.
    first, step = (list(BODIES).index(what), 3) if "template" in body else (0, 1)
    for place, value, wrong in itertools.islice(variants(body), first, None, step):
        content = json.dumps(wrong)
        judge(shared.ask(method, path, content=content, headers={"Content-Type": "application/json"}), place, value)
    assert shared.end(f"/stacks/s/{known['stack_id']}")["stack_status"].endswith("COMPLETE")


def test_in_what_is_adopted(shared: Api) -> None:
    """A stack adopted from any export document can be deleted."""
    for number, (place, value, exported) in enumerate(variants(EXPORTED)):
        if number % 3:
            continue
        body = {"stack_name": f"adopted-{number}", "adopt_stack_data": json.dumps(exported)}
        judge(shared.post("/stacks", body), place, value)
    left = [one for one in shared.get("/stacks", limit=1000).json()["stacks"] if one["stack_name"].startswith("adopted-")]
    for one in left:
        assert shared.delete(f"/stacks/{one['stack_name']}/{one['id']}").status_code == 204
    for one in left:
        ended = shared.end(f"/stacks/{one['stack_name']}/{one['id']}")
        assert ended["stack_status"] == "DELETE_COMPLETE", ended


@pytest.mark.parametrize("content", [
    b'{"name": "\\ud800"}', b'{"name": "\xff"}', b'{"name": "a\x00b"}', b'{"name": "\xed\xa0\x80"}', b'{"\\udfff": 1}',
    b'{"name": "x"', b"{", b"{}{}", b'{"name": NaN}', b'{"name": 1e999}', b"\xef\xbb\xbf{}", b"{" * 100_000,
    b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    b'{"name": ' + b"9" * 50_000 + b"}",
], ids=lambda content: repr(content[:24]))
def test_no_json(shared: Api, content: bytes) -> None:
    """Case 8 and 3: a body that is not right is refused, and one that is goes on whole."""
    answer = shared.ask("POST", "/software_configs", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    fault(answer)


def test_wide_characters_come_back_as_they_were(shared: Api) -> None:
    for text in ("\U0001f600 \U0010ffff", "e\u0301\u202e\u0000x", "<script>alert(1)</script>", "'; DROP TABLE stacks; --"):
        answer = shared.post("/software_configs", {"name": text})
        if "\0" in text:
            assert answer.status_code in (200, 400)
            continue
        made = answer.json()["software_config"]
        assert made["name"] == text
        assert shared.get(f"/software_configs/{made['id']}").json()["software_config"]["name"] == text
