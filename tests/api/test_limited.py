"""Limited updates and retries over the API."""

from __future__ import annotations

from tests.api.conftest import Api, fault, resource, template


def test_an_update_is_limited_to_its_targets(shared: Api) -> None:
    path = shared.create("limited", {"a": resource("one"), "b": resource("one")})
    newer = {"template": template({"a": resource("two"), "b": resource("two"), "c": resource("two")}), "target": ["a"]}
    plan = shared.post(f"{path}/plan", newer).json()["plan"]
    assert (plan["counts"], plan["waits"]) == ({"update": 1, "nothing": 1}, ["b", "c"])
    assert shared.put(path, newer).status_code == 202
    stack = shared.end(path)
    assert stack["stack_status_reason"] == "Stack UPDATE completed successfully. Left out: 2 resources"
    summary = shared.get(f"{path}/summary").json()["summary"]
    assert summary["left_out"] == {"resources": ["b", "c"], "total": 2}
    assert "retry" in summary["may"]
    assert shared.post(f"{path}/actions", {"retry": {"resources": ["c"]}}).status_code == 200
    shared.end(path)
    assert shared.get(f"{path}/summary").json()["summary"]["left_out"] == {"resources": ["b"], "total": 1}
    assert shared.post(f"{path}/actions", {"retry": None}).status_code == 200
    shared.end(path)
    assert shared.get(f"{path}/summary").json()["summary"]["left_out"] == {"resources": [], "total": 0}
    assert shared.get(f"{path}/resources/b").json()["resource"]["attributes"]["output"] == "two"


def test_what_is_excluded_waits_and_outputs_are_shown_meanwhile(shared: Api) -> None:
    path = shared.create("excluded", {"a": resource("one"), "b": resource("one")})
    outputs = {"both": {"value": [{"get_attr": ["b", "output"]}, {"get_attr": ["new", "output"]}]}}
    body = template({"a": resource("two"), "b": resource("two"), "new": resource("two")}, outputs=outputs)
    assert shared.patch(path, {"template": body, "exclude": ["b", "new"]}).status_code == 202
    shared.end(path)
    assert shared.get(path).status_code == 200
    shown = shared.get(f"{path}/outputs/both").json()["output"]
    # Neither has published what only the newest template reads.
    assert shown["output_value"] == [None, None]
    assert shared.get(f"{path}/summary").json()["summary"]["left_out"]["resources"] == ["b", "new"]


def test_choices_that_make_no_sense_are_refused(shared: Api) -> None:
    path = shared.create("nonsense", {"a": resource("one")})
    body = template({"a": resource("two")})
    for wrong in ("a", [1], [""], {"a": 1}):
        assert fault(shared.put(path, {"template": body, "target": wrong}))[0] == 400
        assert fault(shared.post(f"{path}/actions", {"retry": {"resources": wrong}}))[0] == 400
    assert fault(shared.put(path, {"template": body, "target": ["b"]}))[0] == 404
    assert fault(shared.put(path, {"template": body, "target": ["a/b"]}))[0] == 400
