"""Errors list every problem of a request, with place and hint, beside Heat's fields."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isotherm import errors
from isotherm.api.http import faults
from tests.api.conftest import Api, fault, resource, template

MOST = faults.MOST_PROBLEMS


def test_all_mistakes_of_a_template_are_listed(shared: Api) -> None:
    wrong = template({"a": resource(valeu="x"), "b": {"type": "OS::Heat::TestResorce"}})
    answer = shared.post("/stacks", {"stack_name": "wrong", "template": wrong})
    assert fault(answer)[0] == 400
    told = answer.json()
    first = told["problems"][0]
    assert set(first) == {"message", "kind", "label", "path", "hint", "mark"}
    assert first["message"] in told["error"]["message"]
    assert first["kind"] == told["error"]["type"]
    assert all(one["hint"] for one in told["problems"])
    assert all(f"(hint: {one['hint']})" in told["explanation"] for one in told["problems"])


def test_one_problem_without_a_hint_leaves_heats_explanation(shared: Api) -> None:
    told = shared.get("/stacks/none/7").json()
    assert told["explanation"] == "The resource could not be found."
    assert [one["message"] for one in told["problems"]] == ["The Stack (none) could not be found."]


def test_a_fault_in_place_of_an_error_has_the_problems_of_its_cause(shared: Api) -> None:
    answer = shared.post("/stacks", {"stack_name": "wrong", "template": "a: [\n"})
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["message"].startswith("Error parsing template")


def test_a_refusal_by_the_api_itself_has_no_problems(shared: Api) -> None:
    assert "problems" not in shared.post("/stacks", {"template": template({})}).json()


@pytest.mark.parametrize("number", [1, 3, 25, MOST + 50])
def test_lists_are_bounded(number: int) -> None:
    problems = tuple(errors.Problem(f"mistake {n};", f"at.{n}", errors.Mark(n + 1, 2, "t.yaml")) for n in range(number))
    response = faults.response(errors.UserError(problems=problems))
    told = bytes(response.body).decode()
    assert told.count('"mark":{') == min(number, MOST)
    assert ("and " in told) == (number > 20)
    assert ("mistake 1;" in told) == (number > 1)


def test_an_export_masks_hidden_values_if_it_is_asked_to(with_options: Callable[..., Api]) -> None:
    api = with_options(enable_stack_abandon=True)
    hidden = {"secret": {"type": "string", "hidden": True, "default": "hush-hush"}}
    whole = template({"a": resource()}, parameters=hidden)
    path = api.create("masked", template=whole, parameters={"secret": "tell-nobody"})
    assert "tell-nobody" in api.get(f"{path}/export").text
    assert "tell-nobody" not in api.get(f"{path}/export", show_hidden="false").text
    abandoned = api.ask("DELETE", f"{path}/abandon?show_hidden=false")
    assert abandoned.headers["isotherm-operation"]
    assert "tell-nobody" not in abandoned.text


def test_the_operation_that_a_request_begins_is_named(shared: Api) -> None:
    made = shared.post("/stacks", {"stack_name": "operations", "template": template({"a": resource()})})
    path = f"/stacks/operations/{made.json()['stack']['id']}"
    ids = [made.headers["isotherm-operation"]]
    for method, below, body in (
        ("PUT", "", {"template": template({"a": resource("y")})}), ("PATCH", "", {"tags": "t"}),
        ("POST", "/actions", {"check": None}), ("POST", "/actions", {"suspend": None}),
        ("POST", "/actions", {"resume": None}), ("POST", "/snapshots", {"name": "s"}),
    ):
        shared.end(path)
        ids.append(shared.ask(method, path + below, body).headers["isotherm-operation"])
    assert len(set(ids)) == len(ids)
    assert shared.get(path).json()["stack"]["operation_id"] == ids[-1]
    shared.end(path)
    assert shared.ask("DELETE", path).headers["isotherm-operation"]
