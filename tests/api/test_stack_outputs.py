"""Outputs across stacks over HTTP: the refusal to delete a stack that is read, and how to force it."""

from __future__ import annotations

import json

import pytest

from tests.api.conftest import Api, fault, template

VALUE = {"type": "OS::Heat::Value", "properties": {"value": "one"}}
SHARED = template({"a": VALUE}, outputs={"url": {"value": {"get_attr": ["a", "value"]}}})


def share(api: Api) -> str:
    """Create a stack, and another that reads its outputs; return the path of the first."""
    shared = api.create("shared", template=SHARED)
    reader = {"type": "Isotherm::Stack::Outputs", "properties": {"stack": "shared", "outputs": ["url"]}}
    path = api.create("s", {"net": reader})
    assert api.get(f"{path}/resources/net").json()["resource"]["attributes"]["outputs"] == {"url": "one"}
    return shared


def test_a_stack_that_is_read_is_deleted_by_force_only(api: Api) -> None:
    shared = share(api)
    status, kind, message = fault(api.delete(shared))
    assert (status, kind) == (409, "OutputsInUse")
    assert message == "Outputs of the stack are read by net of stack s."
    assert fault(api.ask("DELETE", f"{shared}?force=perhaps"))[0] == 400
    assert api.ask("DELETE", f"{shared}?force=true").status_code == 204
    assert api.end(shared)["stack_status"] == "DELETE_COMPLETE"


@pytest.mark.parametrize(("method", "leave", "status"), [("DELETE", "abandon", 200), ("POST", "forget", 202)])
def test_a_stack_that_is_read_leaves_by_force_only(api: Api, method: str, leave: str, status: int) -> None:
    shared = share(api)
    refused = api.ask(method, f"{shared}/{leave}")
    assert fault(refused) == (409, "OutputsInUse", "Outputs of the stack are read by net of stack s.")
    assert f"isotherm {leave} --force" in refused.json()["explanation"]
    assert api.get(shared).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert fault(api.ask(method, f"{shared}/{leave}?force=perhaps"))[0] == 400
    assert api.ask(method, f"{shared}/{leave}?force=true").status_code == status
    assert api.end(shared)["stack_status"] == "DELETE_COMPLETE"
    assert api.get("/stacks", name="shared").json()["stacks"] == []


def test_a_resource_whose_nested_stack_is_read_is_forgotten_by_force_only(api: Api) -> None:
    outer = api.create("outer", {"n": {"type": "inner.yaml"}, "m": VALUE}, files={"inner.yaml": json.dumps(SHARED)})
    inner = api.get(f"{outer}/resources/n").json()["resource"]["physical_resource_id"]
    reader = {"type": "Isotherm::Stack::Outputs", "properties": {"stack": inner, "outputs": ["url"]}}
    api.create("s", {"net": reader})
    assert fault(api.post(f"{outer}/resources/n/forget"))[:2] == (409, "OutputsInUse")
    assert fault(api.post(f"{outer}/forget"))[:2] == (409, "OutputsInUse")
    assert api.ask("POST", f"{outer}/resources/n/forget?force=true").status_code == 202
    assert api.end(outer)["stack_status"] == "UPDATE_COMPLETE"
