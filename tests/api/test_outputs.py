"""Outputs over HTTP, one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.api.conftest import Api, fault, resource, template


@pytest.fixture(scope="module")
def told(shared: Api) -> str:
    outputs = {
        "text": {"value": {"get_attr": ["a", "output"]}, "description": "what a says"},
        "list": {"value": [1, {"get_resource": "a"}]},
        "left_out": {"value": 1, "condition": "never"},
    }
    asked = template({"a": resource("hello")}, outputs=outputs, conditions={"never": {"equals": [1, 2]}})
    return shared.create("told", template=asked)


def test_the_list_has_no_values(shared: Api, told: str) -> None:
    assert shared.get(f"{told}/outputs").json() == {"outputs": [
        {"output_key": "text", "description": "what a says"},
        {"output_key": "list", "description": "No description given"},
        {"output_key": "left_out", "description": "No description given"},
    ]}


def test_one_output(shared: Api, told: str) -> None:
    assert shared.get(f"{told}/outputs/text").json() == {
        "output": {"output_key": "text", "description": "what a says", "output_value": "hello"}}
    number, reference = shared.get(f"{told}/outputs/list").json()["output"]["output_value"]
    assert (number, reference[:7]) == (1, "told-a-")
    assert shared.get(f"{told}/outputs/left_out").json()["output"]["output_value"] is None


def test_no_such_output(shared: Api, told: str) -> None:
    assert fault(shared.get(f"{told}/outputs/nothing")) == (404, "NotFound", "Specified output key nothing not found.")


def test_no_form_by_name_alone(shared: Api, told: str) -> None:
    assert fault(shared.get("/stacks/told/outputs"))[0] == 404


def test_a_stack_without_any(shared: Api) -> None:
    path = shared.create("silent", {})
    assert shared.get(f"{path}/outputs").json() == {"outputs": []}


def test_while_it_is_being_made(api: Api) -> None:
    asked = template({"a": resource("x", wait_secs=60)}, outputs={"o": {"value": {"get_attr": ["a", "output"]}}})
    path = api.create("slow", template=asked, wait=False)
    assert api.get(f"{path}/outputs").json()["outputs"][0]["output_key"] == "o"
    assert api.get(f"{path}/outputs/o").json()["output"]["output_value"] is None


def test_a_deleted_stack_has_none(api: Api) -> None:
    path = api.create("gone", template=template({}, outputs={"o": {"value": 1}}))
    api.delete(path)
    api.end(path)
    assert fault(api.get(f"{path}/outputs"))[:2] == (404, "EntityNotFound")
    assert fault(api.get(f"{path}/outputs/o"))[:2] == (404, "EntityNotFound")


@pytest.mark.parametrize(("is_masked", "shown"), [(True, "******"), (False, "tell-me")])
def test_outputs_with_hidden_parameters_are_shown_only_where_an_operator_says_so(
    with_options: Callable[..., Api], is_masked: bool, shown: str
) -> None:
    api = with_options(mask_hidden_outputs=is_masked)
    asked = template(
        {"a": resource({"get_param": "pw"})}, parameters={"pw": {"type": "string", "hidden": True}},
        outputs={"own": {"value": {"get_param": "pw"}}, "made": {"value": {"get_attr": ["a", "output"]}}})
    path = api.create("hidden", template=asked, parameters={"pw": "tell-me"})
    stack = api.get(path).json()["stack"]
    assert {one["output_value"] for one in stack["outputs"]} == {shown}
    assert api.get(f"{path}/outputs/own").json()["output"]["output_value"] == shown
    assert stack["parameters"]["pw"] == "******"
