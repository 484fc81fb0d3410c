"""Previews: what a create would make, and what an update would do, without anything being done."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, template

INNER = """
heat_template_version: 2021-04-16
parameters: {value: {type: string}}
resources:
  nested: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
outputs:
  output: {value: {get_attr: [nested, output]}}
"""
ENGINE = {"resource_name", "resource_type", "resource_action", "resource_status", "resource_status_reason",
          "physical_resource_id", "creation_time", "updated_time", "required_by", "description", "metadata", "attributes",
          "resource_identity", "stack_identity", "stack_name"}
TWO = template(
    {"one": resource("fred"), "two": {**resource({"get_param": "incoming"}), "depends_on": "one", "metadata": {"m": 1}}},
    parameters={"incoming": {"type": "string"}}, outputs={"main": {"value": {"get_attr": ["two", "output"]}}})
FILES = {"inner.yaml": INNER}


def preview(api: Any, body: Any) -> Any:
    answer = api.post("/stacks/preview", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["stack"]


def test_what_a_create_would_make(shared: Api) -> None:
    stack = preview(shared, {"stack_name": "p", "template": TWO, "parameters": {"incoming": "abc"}, "tags": "t"})
    assert stack["id"] == "None"
    assert stack["links"] == [{"href": "http://isotherm.test/v1/default/stacks/p/None", "rel": "self"}]
    assert stack["parameters"] == {"OS::stack_id": "None", "OS::stack_name": "p", "OS::project_id": "default",
                                   "incoming": "abc"}
    assert (stack["disable_rollback"], stack["parent"], stack["tags"]) == (True, None, ["t"])
    assert stack["template_description"] == stack["description"] == "No description"
    assert "stack_status" not in stack
    one, two = sorted(stack["resources"], key=lambda found: found["resource_name"])
    assert set(one) == ENGINE | {"properties"}
    assert (one["required_by"], two["required_by"]) == (["two"], [])
    assert (one["resource_action"], one["resource_status"], one["resource_status_reason"]) == ("INIT", "COMPLETE", "")
    assert (one["physical_resource_id"], one["creation_time"], one["updated_time"]) == ("", None, None)
    identity = {"tenant": "default", "stack_name": "p", "stack_id": "None"}
    assert one["stack_identity"] == {**identity, "path": ""}
    assert one["resource_identity"] == {**identity, "path": "/resources/one"}
    assert (one["attributes"], two["metadata"]) == ({"output": None}, {"m": 1})
    assert one["properties"]["value"] == "fred"
    assert (one["properties"]["fail"], one["properties"]["wait_secs"]) == (False, 0)
    assert two["properties"]["value"] == "abc"
    assert "p" not in [found["stack_name"] for found in shared.get("/stacks").json()["stacks"]]


def test_a_nested_stack_is_a_list(shared: Api) -> None:
    middle = INNER.replace("OS::Heat::TestResource", "inner.yaml")
    wanted = template({"main": {"type": "middle.yaml", "properties": {"value": "abc"}}})
    stack = preview(shared, {"stack_name": "p", "template": wanted, "files": {**FILES, "middle.yaml": middle}})
    [[[inner]]] = stack["resources"]
    assert (inner["stack_name"], inner["parent_resource"]) == ("p-main-nested", "nested")
    assert inner["resource_type"] == "OS::Heat::TestResource"
    assert inner["properties"]["value"] == "abc"


def test_what_is_hidden_is_not_told(shared: Api) -> None:
    wanted = template({"a": resource({"get_param": "secret"}), "b": {"type": "inner.yaml", "properties": {
        "value": {"get_param": "secret"}}}}, parameters={"secret": {"type": "string", "hidden": True}})
    answer = shared.post("/stacks/preview", {"stack_name": "p", "template": wanted, "files": FILES,
                                             "parameters": {"secret": "a-marker"}})
    assert answer.status_code == 200
    assert "a-marker" not in answer.text
    assert answer.json()["stack"]["parameters"]["secret"] == "******"


def test_what_a_preview_refuses(shared: Api) -> None:
    broken = template({"two": resource({"get_param": "missing"})})
    assert fault(shared.post("/stacks/preview", {"stack_name": "p", "template": broken})) == (
        400, "StackValidationFailed",
        "Property error: : resources.two.properties.value: : The Parameter (missing) was not provided.")
    shared.create("taken")
    assert fault(shared.post("/stacks/preview", {"stack_name": "taken", "template": template({})}))[:2] == (
        409, "StackExists")
    assert fault(shared.post("/stacks/preview", {"template": template({})}))[2] == "No stack name specified"


# Updates.


def changes(answer: Any) -> Any:
    assert answer.status_code == 200, answer.text
    found = answer.json()["resource_changes"]
    assert set(found) == {"unchanged", "updated", "replaced", "added", "deleted"}
    return {kind: [one["resource_name"] for one in items] for kind, items in found.items() if items}


def test_what_an_update_would_do(shared: Api) -> None:
    path = shared.create("up", {"same": resource("1"), "changed": resource("1"), "replaced": resource(
        "1", update_replace=True), "gone": resource("1")})
    after = {"same": resource("1"), "changed": resource("2"), "replaced": resource("2", update_replace=True),
             "new": resource("1")}
    answer = shared.put(f"{path}/preview", {"template": template(after)})
    assert changes(answer) == {"unchanged": ["same"], "updated": ["changed"], "replaced": ["replaced"], "added": ["new"],
                               "deleted": ["gone"]}
    found = answer.json()["resource_changes"]
    id_ = path.rpartition("/")[2]
    now, then = found["updated"][0], found["added"][0]
    assert set(now) == ENGINE
    assert (now["resource_action"], now["resource_status"]) == ("CREATE", "COMPLETE")
    assert now["physical_resource_id"]
    assert now["creation_time"]
    assert (then["resource_action"], then["physical_resource_id"]) == ("INIT", "")
    assert now["stack_identity"]["stack_id"] == then["stack_identity"]["stack_id"] == id_
    assert found["deleted"][0]["physical_resource_id"]
    assert shared.get(path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_a_patch_foresees_with_what_is_there(shared: Api) -> None:
    path = shared.create("patched", template=TWO, parameters={"incoming": "1"})
    assert changes(shared.patch(f"{path}/preview", {"parameters": {"incoming": "2"}})) == {
        "unchanged": ["one"], "updated": ["two"]}
    assert changes(shared.patch(f"{path}/preview", {})) == {"unchanged": ["one", "two"]}
    assert fault(shared.put(f"{path}/preview", {"template": TWO}))[1] == "UserParameterMissing"


@pytest.mark.parametrize(("value", "expected"), [
    ("1", {"unchanged": ["main"]}), ("2", {"updated": ["main", "nested"]}), (None, {"deleted": ["main", "nested"]})])
def test_inside_stacks_on_request(shared: Api, value: Any, expected: Any) -> Any:
    def wanted(value: Any) -> Any:
        return template({"main": {"type": "inner.yaml", "properties": {"value": value}}} if value else {})

    path = shared.create(f"inside{value}", template=wanted("1"), files=FILES)
    body = {"template": wanted(value), "files": FILES}
    assert changes(shared.put(f"{path}/preview", body, show_nested="true")) == expected
    flat = {kind: names[:1] for kind, names in expected.items()}
    assert changes(shared.put(f"{path}/preview", body)) == flat
    assert fault(shared.put(f"{path}/preview", body, show_nested="x"))[0] == 400


def test_functions_in_metadata(api: Api) -> Any:
    """Known values are shown, hidden ones are masked."""
    sections = {"parameters": {"pw": {"type": "string", "hidden": True, "default": "Zx9-marker"}}}
    body = {"template": template({"a": resource(), "b": {**resource(), "metadata": {
        "word": {"get_param": "pw"}, "of": {"get_attr": ["a", "output"]}}}}, **sections)}

    def metadata(answer: Any) -> Any:
        assert answer.status_code == 200, answer.text
        found = answer.json()
        lists = [found["stack"]["resources"]] if "stack" in found else found["resource_changes"].values()
        return {one["resource_name"]: one["metadata"] for each in lists for one in each}["b"]

    assert metadata(api.post("/stacks/preview", {"stack_name": "s", **body})) == {
        "word": "******", "of": "(known only when applied)"}
    path = api.create("s", None, **dict[str, Any](body))
    unchanged = api.put(f"{path}/preview", body).json()["resource_changes"]
    assert [one["resource_name"] for one in unchanged["unchanged"]] == ["a", "b"]
    body["template"]["resources"]["b"]["metadata"]["more"] = 1
    assert "Zx9-marker" not in api.put(f"{path}/preview", body).text
    assert [one["resource_name"] for one in api.put(f"{path}/preview", body).json()["resource_changes"]["updated"]] == ["b"]
    body["template"]["resources"]["b"]["metadata"] = {"get_param": "none"}
    for answer in (api.put(path, body), api.post("/stacks", {"stack_name": "t", **body})):
        assert fault(answer)[:2] == (400, "UserParameterMissing")
