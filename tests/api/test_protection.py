"""Protection and forgetting over HTTP: routes, faults, stack answers, permissions and plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, serving, template


@pytest.fixture
def path(api: Api) -> str:
    return api.create("s", {"a": resource("a", update_replace_value="1"), "b": resource("b")})


def test_a_protected_stack_is_not_deleted(api: Api, path: str) -> None:
    assert api.put(f"{path}/protection", {"protect": ["delete"]}).json() == {
        "protection": {"protected": True, "by": "isotherm", "resources": []}}
    status, kind, message = fault(api.delete(path))
    assert (status, kind) == (403, "Protected")
    assert message == ("Stack s is protected from delete by user isotherm. `isotherm unprotect s` lifts the protection.")
    assert api.get(path).json()["stack"]["protected"] is True
    summary = api.get(f"{path}/summary").json()["summary"]
    assert summary["stack"]["protected"] is True
    assert summary["may_not"]["delete"] == {"reason": "protection", "text": message}
    assert {"protect", "unprotect"} <= set(summary["may"])
    assert api.delete(f"{path}/protection").status_code == 204
    assert api.get(path).json()["stack"]["protected"] is False
    assert api.delete(path).status_code == 204


def test_a_protected_resource_is_shown_and_holds_its_stack(api: Api, path: str) -> None:
    words = ["replace", "delete"]
    shown = {"resource_name": "a", "protect": words, "user": {"protect": words, "name": "isotherm"}, "template": []}
    assert api.put(f"{path}/resources/a/protection", {"protect": ["delete"]}).json() == {"protection": shown}
    assert api.get(f"{path}/resources/a/protection").json() == {"protection": shown}
    assert api.get(f"{path}/protection").json()["protection"]["resources"] == [shown]
    assert fault(api.delete(path))[:2] == (403, "Protected")
    summary = api.get(f"{path}/summary").json()["summary"]
    assert summary["may_not"]["delete"]["reason"] == "protection"
    assert api.delete(f"{path}/resources/a/protection").status_code == 204
    assert api.get(f"{path}/resources/a/protection").json()["protection"]["protect"] == []
    assert api.delete(path).status_code == 204


@pytest.mark.parametrize("body", [{}, {"protect": "delete"}, {"protect": [1]}, {"protect": ["delete"], "more": 1},
                                  {"protect": ["destroy"]}, {"protect": []}])
def test_wrong_bodies_are_refused(api: Api, path: str, body: dict[str, Any]) -> None:
    assert api.put(f"{path}/resources/a/protection", body).status_code == 400
    assert api.put(f"{path}/protection", body).status_code == 400
    assert fault(api.put(f"{path}/resources/nothing/protection", {"protect": ["all"]}))[:2] == (404, "ResourceNotFound")


def test_the_name_of_the_user_is_told(api: Api) -> None:
    with api.somebody("p"):
        path = api.create("s", {"a": resource("a")})
        assert api.put(f"{path}/protection", {"protect": ["delete"]}).status_code == 200
        assert "is protected from delete by user somebody." in fault(api.delete(path))[2]


def test_plans_and_previews_tell_what_will_be_refused(api: Api, path: str) -> None:
    assert api.put(f"{path}/resources/a/protection", {"protect": ["delete"]}).status_code == 200
    assert api.put(f"{path}/resources/b/protection", {"protect": ["all"]}).status_code == 200
    wanted = {"template": template({"a": resource("a", update_replace_value="2"), "b": resource("c")})}
    plan = api.post(f"{path}/plan", wanted).json()["plan"]
    assert {one["resource_name"]: (one["action"], one["refused"]) for one in plan["resources"]} == {
        "a": ("replace", "protected from replace by user isotherm"),
        "b": ("update", "protected from update by user isotherm")}
    plan = api.post(f"{path}/plan", {"template": template({"b": resource("b")})}).json()["plan"]
    assert [(one["action"], one["refused"]) for one in plan["resources"]] == [
        ("delete", "protected from delete by user isotherm")]
    said = {**resource("a", update_replace_value="2"), "metadata": {"isotherm": {"protect": ["replace"]}}}
    assert api.delete(f"{path}/resources/a/protection").status_code == 204
    plan = api.post(f"{path}/plan", {"template": template({"a": said, "b": resource("b")})}).json()["plan"]
    assert [one["refused"] for one in plan["resources"]] == ["protected from replace by its template"], "it holds at once"


def test_forgotten_objects_stay(api: Api, path: str) -> None:
    answer = api.post(f"{path}/resources/a/forget")
    assert (answer.status_code, answer.json()) == (202, None)
    assert api.end(path)["stack_status"] == "UPDATE_COMPLETE"
    assert [one["resource_name"] for one in api.get(f"{path}/resources").json()["resources"]] == ["b"]
    assert list(api.get(f"{path}/template").json()["resources"]) == ["b"]
    assert fault(api.post(f"{path}/resources/a/forget"))[:2] == (404, "ResourceNotFound")
    assert "forget" in api.get(f"{path}/summary").json()["summary"]["may"]
    assert api.post(f"{path}/forget").status_code == 202
    assert api.end(path)["stack_status"] == "DELETE_COMPLETE"


def test_a_service_that_abandons_nothing_forgets_no_stack(tmp_path: Path) -> None:
    with serving(tmp_path, enable_stack_abandon=False) as api:
        path = api.create("s", {"a": resource("a")})
        summary = api.get(f"{path}/summary").json()["summary"]
        assert summary["may_not"]["forget"] == {"reason": "option", "text": "The option enable_stack_abandon is off."}
        assert fault(api.post(f"{path}/forget"))[:2] == (400, "NotSupported")
