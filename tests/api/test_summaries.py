"""The heads of stacks: groups by need of attention, counts, first failures, what may be done, and generations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import patience
from tests.api.conftest import Api, fault, resource, template

FAILS = {"type": "OS::Heat::TestResource", "properties": {"value": "x", "fail": True}}
INSIDE = {"heat_template_version": "2021-04-16", "resources": {"i": resource()}}


def summary(api: Api, path: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{path}/summary").json()["summary"]
    return found


def listed(api: Api, **query: Any) -> dict[str, Any]:
    answer = api.get("/summaries", **query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_head_of_a_stack(shared: Api) -> None:
    path = shared.create("head", {"a": resource(), "b": {**resource(), "depends_on": "a"}}, tags="one,two")
    found = summary(shared, path)
    assert (found["counts"], found["total"], found["tree"]) == ({"DONE": 2}, 2, None)
    assert found["path"] == [{"id": found["stack"]["id"], "name": "head", "resource": None}]
    assert found["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert found["stack"]["tags"] == ["one", "two"]
    operation = found["operation"]
    assert (operation["action"], operation["running"], operation["failure"]) == ("CREATE", False, None)
    assert operation["ended"] >= operation["began"] > 1e9
    assert found["rollback_generation"] == found["stack"]["generation"] == 1
    assert found["events"] == 6
    assert found["hooks"] == []
    assert {"update", "delete", "check", "suspend", "roll_back"} <= set(found["may"])
    assert found["may_not"]["resume"]["reason"] == "state"
    assert not set(found["may"]) & set(found["may_not"])


def test_what_an_update_does_not_touch_is_counted(shared: Api) -> None:
    inside = {"inside.yaml": json.dumps(INSIDE)}
    nested = {"n": {"type": "inside.yaml"}}
    path = shared.create("counted", {"a": resource(), "b": resource(), **nested}, files=inside)
    wider = template({"a": resource(), "b": resource(), "c": resource(), **nested})
    assert shared.put(path, {"template": wider, "files": inside}).status_code == 202
    shared.end(path)
    found = summary(shared, path)
    assert (found["counts"], found["total"], found["tree"]["total"]) == ({"DONE": 4}, 4, 5)
    row, = listed(shared, name="counted")["summaries"]
    assert (row["counts"], row["total"]) == ({"DONE": 5}, 5)


def test_the_first_failure_has_its_place_in_the_template(shared: Api) -> None:
    text = "heat_template_version: 2021-04-16\nresources:\n  good:\n    type: OS::Heat::TestResource\n  bad:\n" \
           "    type: OS::Heat::TestResource\n    depends_on: good\n    properties: {fail: true}\n" \
           "  after:\n    type: OS::Heat::TestResource\n    depends_on: bad\n"
    path = shared.create("fails", template=text)
    found = summary(shared, path)
    assert found["counts"] == {"DONE": 1, "FAILED": 1, "SKIPPED": 1}
    failure = found["operation"]["failure"]
    assert (failure["resource"], failure["line"], failure["column"]) == ("bad", 5, 3)
    assert failure["event_id"] > 0
    assert "fail" in failure["reason"].lower()
    row = next(one for one in listed(shared, name="fails")["summaries"])
    assert (row["group"], row["why"].partition(": ")[0]) == ("failed", "bad")
    assert row["drift"]["observed"] is None


def test_a_tree_is_counted_whole(shared: Api) -> None:
    path = shared.create("tree", {"a": resource(), "n": {"type": "inside.yaml"}, "m": {"type": "inside.yaml"}},
                         files={"inside.yaml": str(INSIDE).replace("'", '"')})
    found = summary(shared, path)
    assert (found["total"], found["tree"]) == (3, {"counts": {"DONE": 5}, "total": 5, "stacks": 3})
    inner = shared.get(f"{path}/resources/n").json()["resource"]["physical_resource_id"]
    name = next(one["stack_name"] for one in shared.get("/stacks", show_nested="true", id=inner).json()["stacks"])
    below = summary(shared, f"/stacks/{name}/{inner}")
    assert [one["name"] for one in below["path"]] == ["tree", name]
    assert below["path"][1]["resource"] == "n"
    assert below["may_not"]["delete"]["reason"] == "state"


def test_policy_decides_what_may_be_done(shared: Api) -> None:
    path = shared.create("allowed", {"a": resource()})
    shared.rules.forbidden = {"stacks:delete", "actions:suspend"}
    try:
        found = summary(shared, path)
    finally:
        shared.rules.forbidden = set()
    assert found["may_not"]["delete"] == {"reason": "policy", "text": "The rule stacks:delete refuses it."}
    assert found["may_not"]["suspend"]["reason"] == "policy"
    assert "update" in found["may"]


def test_the_groups_count_each_stack_once_and_filter(api: Api) -> None:
    api.create("in-order", {"a": resource()}, tags="blue")
    api.create("failed", {"a": FAILS})
    waiting = api.create("waits", {"a": resource()}, wait=False, environment={
        "resource_registry": {"resources": {"a": {"hooks": "pre-create"}}}})
    api.create("at-work", {"a": {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 600}}}, wait=False)
    wait_for_hook(api, waiting)
    found = listed(api)
    assert found["counts"] == {"all": 4, "failed": 1, "waits": 1, "at_work": 1, "drift": 0, "in_order": 1}
    assert [one["stack"]["name"] for one in found["summaries"]] == ["failed", "waits", "at-work", "in-order"]
    for group in ("failed", "waits", "at_work", "in_order"):
        rows = listed(api, show=group)
        assert [one["group"] for one in rows["summaries"]] == [group]
        assert rows["counts"]["all"] == 4
    assert "pre-create" in listed(api, show="waits")["summaries"][0]["why"]
    assert [one["stack"]["name"] for one in listed(api, search="BLU")["summaries"]] == ["in-order"]
    assert [one["stack"]["name"] for one in listed(api, search="%")["summaries"]] == []
    assert listed(api, order="name")["summaries"][0]["stack"]["name"] == "at-work"
    assert summary(api, waiting)["hooks"][0]["hook"] == "pre-create"


def wait_for_hook(api: Api, path: str) -> None:
    def waits() -> bool:
        return bool(summary(api, path)["hooks"])

    patience.until(waits)


def test_pages_of_the_list_have_no_gaps(shared: Api) -> None:
    for number in range(7):
        shared.create(f"page-{number}", {})
    for order in ("attention", "name", "updated"):
        names: list[str] = []
        marker: str | None = None
        while True:
            found = listed(shared, order=order, limit=3, search="page-", **({"marker": marker} if marker else {}))
            names += [one["stack"]["name"] for one in found["summaries"]]
            marker = found["next"]
            if marker is None:
                break
        assert sorted(names) == [f"page-{number}" for number in range(7)], order


@pytest.mark.parametrize("query", [
    {"show": "none"}, {"order": "x"}, {"limit": "0"}, {"limit": "201"}, {"limit": "-1"}, {"limit": "x"}, {"marker": "x"},
    {"marker": "W10="}, {"marker": "WzEsMiwzLDRd"}, {"search": "x" * 300}, {"marker": "\u20ac"}, {"search": "\0"}])
def test_wrong_parameters_are_named(shared: Api, query: dict[str, str]) -> None:
    assert fault(shared.get("/summaries", **query))[0] == 400


def test_a_deleted_stack_has_a_head(shared: Api) -> None:
    path = shared.create("gone", {"a": resource()})
    shared.delete(path)
    shared.end(path)
    found = summary(shared, path)
    assert found["stack"]["deleted"] is not None
    assert found["may"] == []
    assert "gone" not in [one["stack"]["name"] for one in listed(shared)["summaries"]]


def test_a_generation_that_has_moved_on_changes_nothing(shared: Api) -> None:
    path = shared.create("seen", {"a": resource()})
    tag = shared.get(f"{path}/summary").headers["etag"]
    assert tag == '"1"'
    body = {"template": template({"a": resource("new")})}
    assert shared.ask("PUT", path, body, headers={"If-Match": tag}).status_code == 202
    shared.end(path)
    late = {"If-Match": tag}
    requests = [("PUT", path, body), ("PATCH", path, body), ("DELETE", path, None), ("POST", f"{path}/repair", {}),
                *(("POST", f"{path}/actions", {action: None}) for action in ("suspend", "check", "roll_back"))]
    for method, where, what in requests:
        answer = shared.ask(method, where, what, headers=late)
        assert fault(answer)[:2] == (409, "GenerationMoved"), (method, where)
    assert summary(shared, path)["stack"]["generation"] == 2
    assert fault(shared.ask("DELETE", path, headers={"If-Match": '"x"'}))[0] == 400
    assert shared.ask("DELETE", path, headers={"If-Match": '"2"'}).status_code == 204
    shared.end(path)


def test_roll_back_by_the_api(shared: Api) -> None:
    path = shared.create("back", {"a": resource("one")})
    shared.put(path, {"template": template({"a": FAILS})})
    shared.end(path)
    assert summary(shared, path)["rollback_generation"] == 1
    assert shared.post(f"{path}/actions", {"roll_back": None}).status_code == 200
    assert shared.end(path)["stack_status"] == "ROLLBACK_COMPLETE"
