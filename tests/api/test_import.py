"""Imports and moves through the API."""

from __future__ import annotations

import contextlib
from typing import Any

from isotherm.resources.reality.journal import JournalReality
from tests.api.conftest import Api, fault, resource, template

TYPE = "OS::Heat::TestResource"


def existing(api: Api, physical_id: str, value: str) -> None:
    """Make an object that no stack has."""
    with contextlib.closing(JournalReality(api.engine.path / "reality.journal")) as reality:
        api.run(reality.create(TYPE, f"token-{physical_id}", {"value": value}, physical_id))


def ids(api: Api, path: str) -> dict[str, str]:
    return {one["resource_name"]: one["physical_resource_id"] for one in api.get(f"{path}/resources").json()["resources"]}


def test_a_new_stack_of_existing_objects(shared: Api) -> None:
    existing(shared, "new-one", "1")
    body = {"stack_name": "imported", "template": template({"a": resource("2")}), "objects": {"a": "new-one"}}
    found = shared.post("/import/plan", body).json()["import"]
    assert found["resources"] == [{
        "resource_name": "a", "resource_type": TYPE, "physical_resource_id": "new-one", "found": "differs", "reason": "",
        "changes": {"value": {"from": "1", "to": "2"}}}]
    answer = shared.post("/import", body)
    assert answer.status_code == 201
    path = f"/stacks/imported/{answer.json()['stack']['id']}"
    assert shared.end(path)["stack_status"] == "ADOPT_COMPLETE"
    assert ids(shared, path) == {"a": "new-one"}


def test_an_old_stack_takes_one_in(shared: Api) -> None:
    path = shared.create("takes-in", {"own": resource("1")})
    existing(shared, "old-one", "1")
    body: dict[str, Any] = {"template": template({"own": resource("1"), "a": resource("1")}), "objects": {"a": "old-one"}}
    assert shared.post(f"{path}/import/plan", body).json()["import"]["resources"][0]["found"] == "equal"
    assert shared.ask("POST", f"{path}/import", body, headers={"If-Match": '"7"'}).status_code == 409
    assert shared.post(f"{path}/import", body).status_code == 202
    assert shared.end(path)["stack_status"] == "ADOPT_COMPLETE"
    assert ids(shared, path)["a"] == "old-one"
    taken = {"stack_name": "other", "template": template({"x": resource("1")}), "objects": {"x": "old-one"}}
    assert shared.post("/import", taken).status_code == 409


def test_a_template_for_existing_objects(shared: Api) -> None:
    existing(shared, "written", "9")
    found = shared.post("/import/template", {"objects": {"a": "written"}, "types": {"a": TYPE}}).json()["template"]
    assert found["resources"] == {"a": {"type": TYPE, "properties": {"value": "9"}}}


def test_malformed_imports_are_refused(shared: Api) -> None:
    whole = {"stack_name": "no", "template": template({"a": resource("2")})}
    malformed: tuple[Any, ...] = ({}, [], {"a": 1}, {"a": ""}, None)
    for objects in malformed:
        assert shared.post("/import", {**whole, "objects": objects}).status_code == 400
    assert fault(shared.post("/import", {**whole, "objects": {"a": "not-there"}}))[0] == 400


def test_a_move_in_an_update(shared: Api) -> None:
    path = shared.create("moved", {"a": resource("1")})
    before = ids(shared, path)
    body = {"template": template({"b": resource("1")}), "moved": {"a": "b"}}
    found = shared.post(f"{path}/plan", body).json()["plan"]
    assert [(one["resource_name"], one["action"], one["moved_from"]) for one in found["resources"]] == [("b", "move", "a")]
    assert shared.put(path, body).status_code == 202
    assert shared.end(path)["stack_status"] == "UPDATE_COMPLETE"
    assert ids(shared, path) == {"b": before["a"]}
    assert shared.put(path, {**body, "moved": ["a"]}).status_code == 400
    assert fault(shared.put(path, body))[0] == 400, "the resource has moved already"
    assert shared.post("/stacks", {"stack_name": "new", **body}).status_code == 400


def test_a_resource_moves_to_another_stack(shared: Api) -> None:
    path = shared.create("gives", {"a": resource("1"), "other": resource("2")})
    target = shared.create("takes", {"own": resource("3")})
    before = ids(shared, path)
    body: dict[str, Any] = {"stack": "takes", "resource": "b"}
    assert shared.ask("POST", f"{path}/resources/a/move", body, headers={"If-Match": '"7"'}).status_code == 409
    answer = shared.post(f"{path}/resources/a/move", body)
    assert answer.status_code == 200
    assert answer.json()["move"] == {
        "resource_type": TYPE, "physical_resource_id": before["a"],
        "from": {"stack_name": "gives", "stack_id": path.rpartition("/")[2], "generation": 2, "resource_name": "a"},
        "to": {"stack_name": "takes", "stack_id": target.rpartition("/")[2], "generation": 2, "resource_name": "b"}}
    assert ids(shared, path) == {"other": before["other"]}
    assert ids(shared, target)["b"] == before["a"]
    assert fault(shared.post(f"{path}/resources/a/move", body))[:2] == (404, "ResourceNotFound")
    assert shared.post(f"{target}/resources/b/move", {"stack": "gives", "resource": "a"}).status_code == 200
    assert ids(shared, path) == before


def test_a_move_between_stacks_names_all_that_keeps_it(shared: Api) -> None:
    reader = resource({"get_attr": ["a", "output"]})
    path = shared.create("keeps", {"net": resource("n"), "a": {**resource("1"), "depends_on": ["net"]}, "reader": reader})
    shared.create("wants", {"own": resource("3")})
    answer = shared.post(f"{path}/resources/a/move", {"stack": "wants"})
    assert answer.status_code == 400
    assert [one["path"] for one in answer.json()["problems"]] == [
        "resources.reader.properties.value", "resources.a.depends_on"]
    malformed: tuple[Any, ...] = ({}, {"stack": 1}, {"stack": "wants", "resource": 1}, {"stack": "wants", "x": 1},
                                  {"stack": "wants", "with_values": "yes"})
    for body in malformed:
        assert shared.post(f"{path}/resources/a/move", body).status_code == 400
    assert shared.post(f"{path}/resources/a/move", {"stack": "not-there"}).status_code == 404
