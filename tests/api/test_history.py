"""The history of a stack over the API: listed, compared, planned back to and gone back to."""

from __future__ import annotations

from tests.api.conftest import Api, fault, resource, template


def test_the_history_is_listed_compared_and_gone_back_to(shared: Api) -> None:
    path = shared.create("past", {"a": resource("one")})
    assert shared.put(path, {"template": template({"a": resource("two")})}).status_code == 202
    shared.end(path)
    found = shared.get(f"{path}/history").json()["history"]
    assert [(one["generation"], one["changed"]) for one in found] == [(2, ["template"]), (1, [])]
    diff = shared.get(f"{path}/history/diff", **{"from": 1, "to": 2}).json()["diff"]
    assert diff == shared.get(f"{path}/history/diff").json()["diff"]
    assert (diff["from"], diff["to"]) == (1, 2)
    assert "one" in diff["template"]
    plan = shared.post(f"{path}/plan", {"generation": 1}).json()["plan"]
    assert plan["resources"][0]["changes"] == {"value": {"from": "two", "to": "one"}}
    assert shared.post(f"{path}/actions", {"roll_back": {"to": 1}}).status_code == 200
    shared.end(path)
    assert shared.get(f"{path}/resources/a").json()["resource"]["attributes"]["output"] == "one"
    assert [one["generation"] for one in shared.get(f"{path}/history").json()["history"]] == [3, 2, 1]


def test_operations_say_which_inputs_are_kept(shared: Api) -> None:
    path = shared.create("known", {"a": resource("one")})
    for value in ("two", "three"):
        assert shared.put(path, {"template": template({"a": resource(value)})}).status_code == 202
        shared.end(path)
    found = shared.get(f"{path}/operations").json()["operations"]
    assert [(one["generation"], one["kept"]) for one in found] == [(3, True), (2, True), (1, True)]
    assert all(one["requested_by"] is not None for one in found)


def test_generations_that_make_no_sense_are_refused(shared: Api) -> None:
    path = shared.create("senseless", {"a": resource("one")})
    assert fault(shared.get(f"{path}/history/diff", **{"from": 1, "to": "x"}))[0] == 400
    assert fault(shared.get(f"{path}/history/diff", **{"from": 1, "to": 7}))[0] == 404
    for wrong in ("x", 0, True, 1.5):
        assert fault(shared.post(f"{path}/actions", {"roll_back": {"to": wrong}}))[0] == 400
        assert fault(shared.post(f"{path}/plan", {"generation": wrong}))[0] == 400
    assert fault(shared.post(f"{path}/plan", {"generation": 1, "template": {}}))[0] == 400
    assert fault(shared.post(f"{path}/actions", {"roll_back": {"to": 7}}))[0] == 404
