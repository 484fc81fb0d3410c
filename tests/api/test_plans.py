"""Plans of the page, all problems of a template, and repairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, template

TEXT = """heat_template_version: 2021-04-16
parameters:
  key: {type: string, constraints: [{length: {max: 3}}]}
  quiet: {type: string, hidden: true, default: hush}
resources:
  a:
    type: OS::Heat::TestResource
    properties: {value: {get_param: key}}
"""
HIDDEN = {"heat_template_version": "2021-04-16", "parameters": {"p": {"type": "string", "hidden": True}},
          "resources": {"a": resource({"get_param": "p"})}}


def plan(api: Api, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(f"{path}/plan", body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["plan"]
    return found


def test_what_an_update_would_do(shared: Api) -> None:
    path = shared.create("planned", {"a": resource("one"), "b": resource(), "c": resource()})
    before = shared.get(f"{path}/summary").json()["summary"]["stack"]
    text = "heat_template_version: 2021-04-16\nresources:\n" \
           "  b:\n    type: OS::Heat::TestResource\n    properties: {value: x}\n" \
           "  a:\n    type: OS::Heat::TestResource\n    properties: {value: two}\n  d:\n    type: OS::Heat::TestResource\n"
    found = plan(shared, path, {"template": text})
    rows = {one["resource_name"]: one for one in found["resources"]}
    assert found["counts"] == {"update": 1, "create": 1, "delete": 1, "nothing": 1}
    assert (found["generation"], found["operation_in_progress"], found["left_out"]) == (1, False, 0)
    assert rows["a"]["changes"] == {"value": {"from": "one", "to": "two"}}
    assert {name: (one["action"], one["line"]) for name, one in rows.items()} == {
        "a": ("update", 6), "d": ("create", 9), "c": ("delete", None)}
    assert shared.get(f"{path}/summary").json()["summary"]["stack"] == before


def test_a_plan_keeps_what_is_not_given_where_it_says_so(shared: Api) -> None:
    path = shared.create("kept", template=TEXT, parameters={"key": "one"})
    found = plan(shared, path, {"existing": True, "parameters": {"key": "two"}})
    assert found["resources"][0]["changes"] == {"value": {"from": "one", "to": "two"}}
    assert fault(shared.post(f"{path}/plan", {"parameters": {"key": "two"}}))[0] == 400
    assert fault(shared.post(f"{path}/plan", {"existing": "maybe"}))[0] == 400


def test_a_plan_of_a_create_and_of_nested_stacks(shared: Api) -> None:
    inside = json.dumps(template({"i": resource()}))
    body = {"template": template({"n": {"type": "inside.yaml"}}), "files": {"inside.yaml": inside}}
    found = shared.post("/plan", {"stack_name": "new", **body}).json()["plan"]
    assert [(one["stack"], one["resource_name"], one["action"]) for one in found["resources"]] == [
        ([], "n", "create"), (["n"], "i", "create")]
    assert found["generation"] == 0
    assert shared.get("/stacks", name="new").json()["stacks"] == []
    path = shared.create("nested", {"n": {"type": "inside.yaml"}}, files={"inside.yaml": inside})
    changed = {**body, "files": {"inside.yaml": json.dumps(template({"i": resource("other")}))}}
    found = plan(shared, path, changed)
    assert (["n"], "i", "update") in [(one["stack"], one["resource_name"], one["action"]) for one in found["resources"]]


def test_a_plan_tells_no_secret(shared: Api) -> None:
    path = shared.create("hidden", template=HIDDEN, parameters={"p": "first-secret"})
    answer = shared.post(f"{path}/plan", {"template": HIDDEN, "parameters": {"p": "second-secret"}})
    assert answer.json()["plan"]["counts"] == {"update": 1}
    assert "-secret" not in answer.text


def test_what_cannot_be_applied_cannot_be_planned(shared: Api) -> None:
    path = shared.create("refused", template=TEXT, parameters={"key": "one"})
    assert fault(shared.post(f"{path}/plan", {"template": template({"x": {"type": "No::Such"}})}))[0] in (400, 404)
    assert fault(shared.post(f"{path}/plan", {"template": TEXT, "parameters": {"key": "too long"}}))[0] == 400
    assert fault(shared.post("/plan", {"stack_name": "-", "template": template({})}))[0] == 400
    shared.post(f"{path}/actions", {"suspend": None})
    shared.end(path)
    assert fault(shared.post(f"{path}/plan", {"template": TEXT, "parameters": {"key": "two"}}))[0] == 400


def problems(api: Api, text: Any, **body: Any) -> dict[str, Any]:
    answer = api.post("/problems", {"template": text, **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_all_problems_are_told_with_their_places(shared: Api) -> None:
    text = TEXT + "  b:\n    type: OS::Heat::TestResource\n    properties: {colour: red, value: x}\n" \
                  "  c:\n    type: OS::Heat::TestResource\n    properties: {shape: round}\n"
    found = problems(shared, text)
    assert [(one["line"], one["path"], one["severity"]) for one in found["problems"]] == [
        (11, "resources.b.properties", "error"), (14, "resources.c.properties", "error")]
    assert "colour" in found["problems"][0]["message"]


def test_the_form_of_the_parameters(shared: Api) -> None:
    found = problems(shared, TEXT)
    assert (found["problems"], found["resources"]) == ([], 1)
    key, quiet = found["parameters"]
    assert (key["name"], key["required"], key["constraints"][0]["length"]) == ("key", True, {"max": 3})
    assert (quiet["hidden"], quiet["required"], "hush" in json.dumps(found)) == (True, False, False)
    assert found["parameter_groups"] == [{"label": "", "description": "", "parameters": ["key", "quiet"]}]
    strict = problems(shared, TEXT, strict=True, parameters={"key": "long"})
    assert len(strict["problems"]) == 1
    assert "key" in strict["problems"][0]["message"]


@pytest.mark.parametrize("text", ["", "a: [", "- 1", "\t", "heat_template_version: 1999-01-01", "{}", "a: &a [*a]",
                                  "heat_template_version: 2021-04-16\nresources: 7",
                                  "heat_template_version: 2021-04-16\nresources: {a: {type: 7}}",
                                  "heat_template_version: 2021-04-16\nresources: {a: {type: 'No::Such'}}"])
def test_any_text_has_problems_and_no_defect(shared: Api, text: str) -> None:
    found = problems(shared, text)
    assert found["problems"]
    assert all(one["message"] for one in found["problems"])


def test_a_problem_in_the_yaml_has_a_line(shared: Api) -> None:
    problem, = problems(shared, "heat_template_version: 2021-04-16\nresources:\n  a: [\n")["problems"]
    assert problem["line"] is not None
    assert problem["line"] >= 3


def test_repairs_are_refused_where_nothing_has_drifted(shared: Api) -> None:
    path = shared.create("whole", {"a": resource()})
    assert fault(shared.post(f"{path}/repair"))[0] == 400
    assert fault(shared.post(f"{path}/repair", {"resources": ["none"]}))[0] == 404
    for wrong in ([], "a", [7], ["a"] * 201):
        assert fault(shared.post(f"{path}/repair", {"resources": wrong}))[0] == 400
    assert shared.post(f"{path}/repair", {"resources": ["a"]}).status_code == 202
    assert shared.end(path)["stack_status"] == "UPDATE_COMPLETE"
