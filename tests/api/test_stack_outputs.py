"""Outputs across stacks over HTTP: the refusal to delete a stack that is read, and how to force it."""

from __future__ import annotations

from tests.api.conftest import Api, fault, template


def test_a_stack_that_is_read_is_deleted_by_force_only(api: Api) -> None:
    value = {"type": "OS::Heat::Value", "properties": {"value": "one"}}
    outputs = {"url": {"value": {"get_attr": ["a", "value"]}}}
    shared = api.create("shared", template=template({"a": value}, outputs=outputs))
    reader = {"type": "Isotherm::Stack::Outputs", "properties": {"stack": "shared", "outputs": ["url"]}}
    path = api.create("s", {"net": reader})
    assert api.get(f"{path}/resources/net").json()["resource"]["attributes"]["outputs"] == {"url": "one"}
    status, kind, message = fault(api.delete(shared))
    assert (status, kind) == (409, "OutputsInUse")
    assert message == "Outputs of the stack are read by net of stack s."
    assert fault(api.ask("DELETE", f"{shared}?force=perhaps"))[0] == 400
    assert api.ask("DELETE", f"{shared}?force=true").status_code == 204
    assert api.end(shared)["stack_status"] == "DELETE_COMPLETE"
