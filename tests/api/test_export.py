"""Export, abandon, adopt through the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from isotherm.planning import export_document
from isotherm.resources import contract
from tests.api.conftest import Api, fault, resource, template

KEYS = {"name", "id", "action", "status", "template", "environment", "files", "resources", "project_id",
        "stack_user_project_id", "tags"}
HIDDEN = template({"a": resource({"get_param": "p"}), "word": {"type": "OS::Heat::RandomString"}},
                  parameters={"p": {"type": "string", "hidden": True}, "q": {"type": "string", "default": "d"}},
                  outputs={"word": {"value": {"get_attr": ["word", "value"]}}})


def physical(api: Any, path: Any) -> Any:
    return {one["resource_name"]: one["physical_resource_id"] for one in api.get(f"{path}/resources").json()["resources"]}


def test_there_and_back_again(api: Api) -> None:
    path = api.create("s", template=HIDDEN, parameters={"p": "a-marker"}, tags="t")
    before, word = physical(api, path), api.get(path).json()["stack"]["outputs"]
    exported = api.get(f"{path}/export").json()
    assert set(exported) == KEYS
    assert exported["environment"]["parameters"] == {"p": "a-marker"}
    assert set(exported["resources"]["a"]) == {"name", "resource_id", "type", "action", "status", "metadata",
                                             "resource_data"}
    assert (exported["action"], exported["status"], exported["tags"]) == ("CREATE", "COMPLETE", ["t"])
    answer = api.delete(f"{path}/abandon")
    assert answer.status_code == 200
    assert set(answer.json()) == KEYS
    assert api.end(path)["stack_status"] == "DELETE_COMPLETE"
    new = api.post("/stacks", {"stack_name": "s", "adopt_stack_data": json.dumps(answer.json()), "timeout": 3})
    assert new.status_code == 201
    path = f"/stacks/s/{new.json()['stack']['id']}"
    stack = api.end(path)
    assert stack["stack_status"] == "ADOPT_COMPLETE"
    assert physical(api, path) == before
    assert api.get(path).json()["stack"]["outputs"] == word
    assert (stack["tags"], stack["timeout_mins"]) == ([], None)
    assert stack["updated_time"]
    assert stack["stack_owner"] == "isotherm"


def test_parameters_of_the_request_win_over_those_of_the_export_document(api: Api) -> None:
    path = api.create("s", template=HIDDEN, parameters={"p": "1", "q": "papers"})
    exported = api.delete(f"{path}/abandon").text
    api.end(path)
    path = api.create("s", adopt_stack_data=exported, parameters={"q": "request"}, template=None)
    assert api.get(path).json()["stack"]["parameters"]["q"] == "request"


def test_stacks_inside_come_along(api: Api) -> None:
    inner = "heat_template_version: 2021-04-16\nresources: {r: {type: OS::Heat::TestResource}}\n"
    files = {"inner.yaml": inner}
    path = api.create("s", {"n": {"type": "inner.yaml"}}, files=files)
    before = physical(api, path)
    exported = api.delete(f"{path}/abandon").json()
    entry = exported["resources"]["n"]
    assert set(entry) == KEYS | {"resource_id", "type", "metadata", "resource_data"}
    assert list(entry["template"]["resources"]) == list(entry["resources"]) == ["r"]
    assert (entry["type"], entry["resource_id"], entry["id"]) == ("inner.yaml", before["n"], before["n"])
    api.end(path)
    path = api.create("s", adopt_stack_data=json.dumps(exported), files=files, template=None)
    assert api.get(path).json()["stack"]["stack_status"] == "ADOPT_COMPLETE"
    found = api.get(f"{path}/resources", nested_depth=1).json()["resources"]
    assert sorted(one["resource_name"] for one in found) == ["n", "r"]
    api.delete(path)
    api.end(path)
    assert api.get("/stacks", show_nested="true").json()["stacks"] == []


def test_what_adopt_refuses(api: Api) -> Any:
    def refused(data: Any, **body: Any) -> Any:
        return fault(api.post("/stacks", {"stack_name": "s", "adopt_stack_data": data, **body}))

    assert refused("{")[:2] == (400, "HTTPBadRequest")
    assert refused("[]") == (400, "HTTPBadRequest", "Invalid adopt data: 'template'")
    assert refused({"template": {}})[:2] == (400, "HTTPBadRequest")
    exported = json.dumps({"template": template({"a": resource()}), "resources": {}})
    assert refused(exported)[0] == 400
    assert "Resource ID was not provided." in refused(exported)[2]
    assert refused(json.dumps({"template": template({})}), parameters={"x": 1})[1] == "UnknownUserParameter"


def test_neither_unless_it_is_enabled(with_options: Callable[..., Api]) -> None:
    api = with_options(enable_stack_abandon=False, enable_stack_adopt=False)
    path = api.create("s")
    for answer in (api.get(f"{path}/export"), api.delete(f"{path}/abandon")):
        assert fault(answer) == (400, "NotSupported", "Stack Abandon is not supported.")
    data = json.dumps({"template": template({})})
    assert fault(api.post("/stacks", {"stack_name": "n", "adopt_stack_data": data})) == (
        400, "NotSupported", "Stack Adopt is not supported.")


def test_protections_travel_with_their_objects(api: Api) -> None:
    asking = {**resource(), "metadata": {"isotherm": {"protect": ["replace"]}}}
    path = api.create("s", {"a": resource(), "b": asking, "c": resource()})
    # Later the template does not ask any more, and the protection stays.
    assert api.put(path, {"template": template({"a": resource(), "b": resource(), "c": resource()})}).status_code == 202
    api.end(path)
    assert api.put(f"{path}/resources/a/protection", {"protect": ["delete"]}).status_code == 200
    protected = api.get(f"{path}/protection").json()["protection"]["resources"]
    exported = api.delete(f"{path}/abandon").json()
    assert exported["resources"]["a"]["protection"] == {
        "user": {"protect": ["replace", "delete"], "name": "isotherm"}, "template": []}
    assert exported["resources"]["b"]["protection"] == {"user": None, "template": ["replace"]}
    assert "protection" not in exported["resources"]["c"]
    assert set(exported) == KEYS
    api.end(path)
    path = api.create("s", adopt_stack_data=json.dumps(exported), template=None)
    assert api.get(path).json()["stack"]["stack_status"] == "ADOPT_COMPLETE"
    assert api.get(f"{path}/protection").json()["protection"] == {"protected": False, "by": None, "resources": protected}
    assert fault(api.delete(path))[:2] == (403, "Protected")
    assert physical(api, path)["a"] == exported["resources"]["a"]["resource_id"]


def test_the_template_of_an_adopted_stack_says_what_it_protects(api: Api) -> None:
    path = api.create("s", {"a": {**resource(), "metadata": {"isotherm": {"protect": ["delete"]}}}})
    exported = api.delete(f"{path}/abandon").json()
    api.end(path)
    exported["template"]["resources"]["a"]["metadata"] = {"isotherm": {"protect": []}}
    path = api.create("s", adopt_stack_data=json.dumps(exported), template=None)
    assert api.get(f"{path}/protection").json()["protection"]["resources"] == []


def test_protections_of_nested_stacks_travel(api: Api) -> None:
    inner = "heat_template_version: 2021-04-16\nresources: {r: {type: OS::Heat::TestResource}}\n"
    path = api.create("s", {"n": {"type": "inner.yaml"}}, files={"inner.yaml": inner})
    inside = next(one for one in api.get("/stacks", show_nested="true").json()["stacks"] if one["stack_name"] != "s")
    inner_path = f"/stacks/{inside['stack_name']}/{inside['id']}"
    assert api.put(f"{path}/resources/n/protection", {"protect": ["replace"]}).status_code == 200
    assert api.put(f"{inner_path}/resources/r/protection", {"protect": ["all"]}).status_code == 200
    assert api.put(f"{inner_path}/protection", {"protect": ["delete"]}).status_code == 200
    exported = api.get(f"{path}/export").json()
    assert exported["resources"]["n"]["stack_protection"] == {"protected": True, "by": "isotherm"}
    assert fault(api.delete(f"{path}/abandon"))[:2] == (403, "Protected")
    assert api.delete(f"{inner_path}/protection").status_code == 204
    assert api.delete(f"{path}/abandon").status_code == 200
    api.end(path)
    path = api.create("s", adopt_stack_data=json.dumps(exported), files={"inner.yaml": inner}, template=None)
    assert api.get(path).json()["stack"]["stack_status"] == "ADOPT_COMPLETE"
    found = api.get(f"{path}/protection").json()["protection"]["resources"]
    assert [(one["resource_name"], one["protect"]) for one in found] == [("n", ["replace"])]
    inside = next(one for one in api.get("/stacks", show_nested="true").json()["stacks"] if one["stack_name"] != "s")
    kept = api.get(f"/stacks/{inside['stack_name']}/{inside['id']}/protection").json()["protection"]
    assert (kept["protected"], kept["by"]) == (True, "isotherm")
    assert kept["resources"][0]["protect"] == ["replace", "delete", "update"]


def test_a_protected_stack_is_adopted_as_one_and_the_adopting_user_asks_for_it(api: Api) -> None:
    path = api.create("s", {"a": resource()})
    assert api.put(f"{path}/protection", {"protect": ["delete"]}).status_code == 200
    assert api.put(f"{path}/resources/a/protection", {"protect": ["delete"]}).status_code == 200
    exported = api.get(f"{path}/export").json()
    assert exported["stack_protection"] == {"protected": True, "by": "isotherm"}
    assert api.delete(f"{path}/protection").status_code == 204
    assert api.delete(f"{path}/abandon").status_code == 200
    api.end(path)
    with api.somebody("p"):
        path = api.create("s", adopt_stack_data=json.dumps(exported), template=None)
        kept = api.get(f"{path}/protection").json()["protection"]
        assert (kept["protected"], kept["by"]) == (True, "somebody")
        assert kept["resources"][0]["user"] == {"protect": ["replace", "delete"], "name": "somebody"}


def test_wrong_protections_are_refused(api: Api) -> None:
    path = api.create("s", {"a": resource()})
    exported = api.delete(f"{path}/abandon").json()
    api.end(path)
    for wrong in ({"user": 7}, {"template": "delete"}, {"user": {"protect": ["fly"]}}, {"template": ["x"]}, [1]):
        exported["resources"]["a"]["protection"] = wrong
        assert fault(api.post("/stacks", {"stack_name": "s", "adopt_stack_data": json.dumps(exported)}))[0] == 400, wrong
    exported["resources"]["a"]["protection"] = None
    assert api.post("/stacks", {"stack_name": "s", "adopt_stack_data": json.dumps(exported)}).status_code == 201


def test_the_id_of_a_replaced_object_is_no_secret() -> None:
    whole = {"environment": {"parameters": {}, "parameter_defaults": {}},
             "resources": {"a": {"resource_data": {contract.REPLACED: "1234", "password": "x"}}}}
    assert export_document.masked(whole, {})["resources"]["a"]["resource_data"] == {
        contract.REPLACED: "1234", "password": "******"}
