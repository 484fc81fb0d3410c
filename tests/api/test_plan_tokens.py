"""Requests that are bound to a plan by its token: what was looked at is applied, or nothing is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from isotherm.api.request import plan_tokens
from isotherm.identity.requester import Requester
from isotherm.secrets import SEALED
from tests.api.conftest import Api, fault, resource, template

ONE = {"a": resource("one"), "b": resource()}
TWO = {"a": resource("two"), "b": resource()}
FILE = {"type": "Isotherm::Local::File", "properties": {"path": "bound.txt", "content": "as wanted"}}
HIDDEN = {"heat_template_version": "2021-04-16", "parameters": {"p": {"type": "string", "hidden": True}},
          "resources": {"a": resource({"get_param": "p"})}}


def planned(api: Api, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(f"{path}/plan", body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["plan"]
    return found


def refused(answer: Any, status: int, word: str) -> None:
    code, kind, message = fault(answer)
    assert (code, kind) == (status, {400: "InvalidPlan", 409: "PlanOutdated"}[status])
    assert word in message


def value(api: Api, path: str, name: str = "a") -> Any:
    return api.get(f"{path}/resources/{name}").json()["resource"]["attributes"]["output"]


def test_an_update_as_planned(shared: Api) -> None:
    path = shared.create("bound", ONE)
    body = {"template": template(TWO)}
    plan = planned(shared, path, body)
    assert time.time() < plan["token_expires"] <= time.time() + plan_tokens.LIFETIME_S
    assert shared.put(path, {**body, "plan_token": plan["token"]}).status_code == 202
    assert shared.end(path)["stack_status"] == "UPDATE_COMPLETE"
    assert value(shared, path) == "two"
    refused(shared.put(path, {**body, "plan_token": plan["token"]}), 409, "another operation was accepted")


def test_a_patch_as_planned(shared: Api) -> None:
    text = {**HIDDEN, "parameters": {"p": {"type": "string", "hidden": True}, "q": {"type": "string", "default": "x"}}}
    path = shared.create("bound-patch", template=text, parameters={"p": "secret-one"})
    body = {"parameters": {"p": "secret-two"}}
    plan = planned(shared, path, {**body, "existing": True})
    assert "secret" not in plan["token"]
    # Plans mask both secrets: the token tells them apart.
    other = {"parameters": {"p": "secret-three"}, "plan_token": plan["token"]}
    refused(shared.patch(path, other), 400, "not the one that was planned")
    refused(shared.put(path, {"template": text, **body, "plan_token": plan["token"]}), 400, "not the one that was planned")
    assert shared.patch(path, {**body, "plan_token": plan["token"]}).status_code == 202
    assert shared.end(path)["stack_status"] == "UPDATE_COMPLETE"


def test_a_create_as_planned(shared: Api) -> None:
    body = {"stack_name": "bound-new", "template": template(ONE)}
    plan = planned(shared, "", body)
    refused(shared.post("/stacks", {**body, "template": template(TWO), "plan_token": plan["token"]}), 400, "not the one")
    refused(shared.post("/stacks", {**body, "stack_name": "bound-other", "plan_token": plan["token"]}), 400, "another user")
    assert shared.get("/stacks", name="bound-other").json()["stacks"] == []
    answer = shared.post("/stacks", {**body, "plan_token": plan["token"]})
    assert answer.status_code == 201
    path = f"/stacks/bound-new/{answer.json()['stack']['id']}"
    shared.end(path)
    refused(shared.post("/stacks", {**body, "plan_token": plan["token"]}), 409, "has been created meanwhile")
    refused(shared.put(path, {**body, "plan_token": plan["token"]}), 400, "another user, project or stack")
    assert "token" not in planned(shared, "", body)


def test_a_plan_is_refused_after_drift(shared: Api) -> None:
    path = shared.create("bound-drift", {"a": resource("one"), "f": FILE})
    body = {"template": template({"a": resource("two"), "f": FILE})}
    plan = planned(shared, path, body)
    (shared.engine.path / "local" / "bound.txt").write_text("changed from outside")
    shared.run(shared.engine.orchestrator_for(Requester(shared.project)).drift.observe(path.rpartition("/")[2], None))
    refused(shared.put(path, {**body, "plan_token": plan["token"]}), 409, "drifted")
    assert shared.get(path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"


def test_a_plan_is_refused_if_it_would_do_something_else(shared: Api) -> None:
    path = shared.create("bound-meaning", ONE)
    body = {"template": template(TWO)}
    plan = planned(shared, path, body)
    assert shared.put(f"{path}/resources/a/protection", {"protect": ["update"]}).status_code == 200
    refused(shared.put(path, {**body, "plan_token": plan["token"]}), 409, "something else")
    assert value(shared, path) == "one"


def test_a_plan_of_another_stack_project_or_user_is_refused(api: Api) -> None:
    path, other = api.create("bound", ONE), api.create("other", ONE)
    body = {"template": template(TWO)}
    token = planned(api, path, body)["token"]
    refused(api.put(other, {**body, "plan_token": token}), 400, "another user, project or stack")
    with api.somebody(api.project):
        refused(api.put(path, {**body, "plan_token": token}), 400, "another user, project or stack")
    new = {"stack_name": "new", **body}
    token = planned(api, "", new)["token"]
    with api.somebody("elsewhere"):
        refused(api.post("/stacks", {**new, "plan_token": token}), 400, "another user, project or stack")


def test_a_token_that_was_changed_or_is_too_old_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path, body = api.create("bound", ONE), {"template": template(TWO)}
    token = planned(api, path, body)["token"]
    middle = len(token) // 2
    changed = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1:]
    for wrong in ("nonsense", SEALED, f"{SEALED}0$AAAA", changed, api.engine.ring().seal("[]", "plan token")):
        refused(api.put(path, {**body, "plan_token": wrong}), 400, "not a token of a plan")
    for wrong in ("", 7, ["x"], {}):
        assert fault(api.put(path, {**body, "plan_token": wrong}))[0] == 400
    monkeypatch.setattr(plan_tokens, "LIFETIME_S", -1)
    refused(api.put(path, {**body, "plan_token": planned(api, path, body)["token"]}), 400, "too old")
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"


def test_a_token_goes_with_a_generation(shared: Api) -> None:
    path, body = shared.create("bound-generation", ONE), {"template": template(TWO)}
    bound = {**body, "plan_token": planned(shared, path, body)["token"]}
    assert fault(shared.ask("PUT", path, bound, headers={"If-Match": '"7"'}))[:2] == (409, "GenerationMoved")
    assert shared.ask("PUT", path, bound, headers={"If-Match": '"1"'}).status_code == 202
    shared.end(path)
