"""Snapshots over HTTP: all five routes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from isotherm.engine.operations.snapshots import SnapshotService
from tests.api.conftest import Api, fault, resource, template

KEYS = {"id", "name", "action", "status", "status_reason", "data", "creation_time"}
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def take(api: Api, path: str, **body: Any) -> dict[str, Any]:
    answer = api.post(f"{path}/snapshots", body)
    assert answer.status_code == 200, answer.text
    api.end(path)
    found: dict[str, Any] = answer.json()
    return found


def test_taken_shown_and_listed(api: Api) -> None:
    path = api.create("s", {"a": resource("one")})
    taken = take(api, path, name="first")
    assert set(taken) == KEYS
    assert (taken["name"], taken["action"]) == ("first", "CREATE")
    assert api.get(path).json()["stack"]["stack_status"] == "SNAPSHOT_COMPLETE"
    shown = api.get(f"{path}/snapshots/{taken['id']}").json()
    assert set(shown) == {"snapshot"} and set(shown["snapshot"]) == KEYS
    found = shown["snapshot"]
    assert (found["status"], found["data"]["status"]) == ("COMPLETE", "COMPLETE")
    assert found["status_reason"] == "Stack SNAPSHOT completed successfully"
    assert found["data"]["resources"]["a"]["type"] == "OS::Heat::TestResource"
    assert set(found["data"]) == {"name", "id", "action", "status", "template", "environment", "files", "resources",
                                  "project_id", "stack_user_project_id", "tags"}
    take(api, path)
    listed = api.get(f"{path}/snapshots").json()["snapshots"]
    assert [one["name"] for one in listed] == ["first", None]
    assert all(set(one) == KEYS for one in listed)


def test_what_goes_while_it_is_listed_is_left_out(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path = api.create("s", {"a": resource("one")})
    taken = take(api, path)
    known = SnapshotService.list

    async def before(self: SnapshotService, stack: str) -> list[dict[str, Any]]:
        return [{"id": UNKNOWN}, *await known(self, stack)]

    monkeypatch.setattr(SnapshotService, "list", before)
    assert [one["id"] for one in api.get(f"{path}/snapshots").json()["snapshots"]] == [taken["id"]]


def test_gone_back_to(api: Api) -> None:
    path = api.create("s", {"a": resource("one")})
    taken = take(api, path)
    assert api.put(path, {"template": template({"a": resource("two"), "b": resource()})}).status_code == 202
    api.end(path)
    answer = api.post(f"{path}/snapshots/{taken['id']}/restore")
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (202, "text/html")
    assert api.end(path)["stack_status"] == "RESTORE_COMPLETE"
    shown = api.get(f"{path}/resources", with_detail=True).json()["resources"]
    assert [(one["resource_name"], one["attributes"]["output"]) for one in shown] == [("a", "one")]


def test_planned_before_gone_back_to(api: Api) -> None:
    path = api.create("s", {"a": resource("one"), "c": resource()})
    taken = take(api, path)
    changed = template({"a": resource("two"), "b": resource(), "c": resource()})
    assert api.put(path, {"template": changed}).status_code == 202
    api.end(path)
    one = f"{path}/snapshots/{taken['id']}"
    plan = api.post(f"{one}/plan").json()["plan"]
    assert (plan["generation"], plan["counts"]) == (3, {"update": 1, "delete": 1, "nothing": 1})
    rows = {row["resource_name"]: row for row in plan["resources"]}
    assert rows["a"]["changes"] == {"value": {"from": "two", "to": "one"}} and rows["b"]["action"] == "delete"
    assert api.get(f"{path}/summary").json()["summary"]["stack"]["generation"] == 3
    late = api.ask("POST", f"{one}/restore", headers={"If-Match": '"2"'})
    assert fault(late)[:2] == (409, "GenerationMoved")
    assert api.ask("POST", f"{one}/restore", headers={"If-Match": '"3"'}).status_code == 202
    api.end(path)
    assert api.post(f"{one}/plan").json()["plan"]["counts"] == {"nothing": 2}


def test_immutable_parameters_are_no_obstacle_to_the_plan_of_a_restore(api: Api) -> None:
    def body(value: str, *, immutable: bool) -> dict[str, Any]:
        parameters = {"p": {"type": "string", "default": value, "immutable": immutable}}
        return {**template({"a": resource({"get_param": "p"})}), "parameters": parameters}

    path = api.create("s", template=body("one", immutable=True))
    taken = take(api, path)
    assert api.put(path, {"template": body("two", immutable=False)}).status_code == 202
    api.end(path)
    assert api.post(f"{path}/snapshots/{taken['id']}/plan").status_code == 200


def test_deleted(api: Api) -> None:
    path = api.create("s", {"a": resource()})
    taken = take(api, path)
    one = f"{path}/snapshots/{taken['id']}"
    assert api.delete(one).status_code == 204
    until = time.monotonic() + 240
    while api.get(one).status_code != 404:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert api.get(f"{path}/snapshots").json() == {"snapshots": []}


def test_not_while_something_is_under_way(api: Api) -> None:
    path = api.create("busy", {"a": resource(wait_secs=60)}, wait=False)
    assert fault(api.post(f"{path}/snapshots", {})) == (
        409, "ActionInProgress", "Stack busy already has an action (CREATE) in progress.")


def test_no_such_snapshot(shared: Api) -> None:
    path = shared.create("s", {})
    for method, part in (("GET", ""), ("DELETE", ""), ("POST", "/restore"), ("POST", "/plan")):
        assert fault(shared.ask(method, f"{path}/snapshots/{UNKNOWN}{part}")) == (
            404, "NotFound", f"Snapshot with id {UNKNOWN} not found"), method


def test_what_makes_no_sense(shared: Api) -> None:
    path = shared.create("odd", {})
    assert fault(shared.post(f"{path}/snapshots"))[:2] == (400, "HTTPBadRequest")
    for name in (5, ["x"], "x" * 256):
        assert fault(shared.post(f"{path}/snapshots", {"name": name}))[:2] == (400, "HTTPBadRequest"), name


def test_no_more_than_are_allowed(with_options: Any) -> None:
    api = with_options(max_snapshots_per_stack=1)
    path = api.create("s", {})
    take(api, path)
    with api.somebody("default"):
        assert fault(api.post(f"{path}/snapshots", {})) == (
            400, "RequestLimitExceeded",
            "Request limit exceeded: You have reached the maximum snapshots per stack, 1. Please delete some snapshots.")
    take(api, path)


def test_hidden_values_stay_hidden(api: Api) -> None:
    asked = template({"a": resource({"get_param": "p"})}, parameters={"p": {"type": "string", "hidden": True}})
    path = api.create("hush", template=asked, parameters={"p": "correct-horse"})
    taken = take(api, path)
    for answer in (api.get(f"{path}/snapshots"), api.get(f"{path}/snapshots/{taken['id']}")):
        assert answer.status_code == 200
        assert "correct-horse" not in answer.text


def test_a_deleted_stack_has_none(api: Api) -> None:
    path = api.create("gone", {})
    taken = take(api, path)
    api.delete(path)
    api.end(path)
    assert fault(api.get(f"{path}/snapshots"))[:2] == (404, "EntityNotFound")
    assert fault(api.get(f"{path}/snapshots/{taken['id']}"))[:2] == (404, "EntityNotFound")
    assert fault(api.post(f"{path}/snapshots", {}))[:2] == (404, "EntityNotFound")
