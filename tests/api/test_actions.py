"""Actions over HTTP: their effects, the states that refuse them, and the roles that may request them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Api, fault, resource, template

UNCHECKED = {"type": "OS::Heat::RandomString"}


def act(api: Api, path: str, action: str) -> None:
    answer = api.post(f"{path}/actions", {action: None})
    assert (answer.status_code, answer.content) == (200, b"null"), answer.text


def status(api: Api, path: str) -> str:
    found: str = api.get(path, resolve_outputs=False).json()["stack"]["stack_status"]
    return found


def began(api: Api, path: str) -> int:
    """Return the number of operations of the stack."""
    return sum(one["resource_status"].endswith("IN_PROGRESS") for one in api.get(
        f"{path}/resources/{path.split('/')[2]}/events").json()["events"])


def test_suspend_then_resume(api: Api) -> None:
    path = api.create("s", {"a": resource()})
    act(api, path, "suspend")
    assert api.end(path)["stack_status"] == "SUSPEND_COMPLETE"
    assert api.get(f"{path}/resources/a").json()["resource"]["resource_status"] == "SUSPEND_COMPLETE"
    before = began(api, path)
    act(api, path, "suspend")
    assert (status(api, path), began(api, path)) == ("SUSPEND_COMPLETE", before), "nothing happens"
    assert fault(api.put(path, {"template": template({"a": resource("new")})})) == (
        400, "NotSupported", "Updating a stack when it is suspended is not supported.")
    act(api, path, "resume")
    assert api.end(path)["stack_status"] == "RESUME_COMPLETE"
    before = began(api, path)
    act(api, path, "resume")
    assert (status(api, path), began(api, path)) == ("RESUME_COMPLETE", before), "nothing happens"


def test_check(api: Api) -> None:
    path = api.create("s", {"a": resource()})
    act(api, path, "check")
    stack = api.end(path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == ("CHECK_COMPLETE", "Stack CHECK completed successfully")


def test_check_says_what_it_cannot_look_at(api: Api) -> None:
    path = api.create("s", {"a": resource(), "b": UNCHECKED})
    act(api, path, "check")
    stack = api.end(path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "CHECK_COMPLETE", "Stack CHECK completed successfully. 'CHECK' not fully supported (see resources)")
    b = api.get(f"{path}/resources/b").json()["resource"]
    assert (b["resource_status"], b["resource_status_reason"]) == (
        "CHECK_COMPLETE", "CHECK not supported for OS::Heat::RandomString")
    a = api.get(f"{path}/resources/a").json()["resource"]
    assert (a["resource_status"], a["resource_status_reason"]) == ("CHECK_COMPLETE", "state changed")


def test_cancel_with_rollback(api: Api) -> None:
    path = api.create("s", {"a": resource("old")})
    assert api.put(path, {"template": template({"a": resource("old"), "b": resource(wait_secs=60)})}).status_code == 202
    act(api, path, "cancel_update")
    assert status(api, path).startswith("ROLLBACK_")
    assert fault(api.post(f"{path}/actions", {"cancel_update": None}))[:2] == (400, "NotSupported")


def test_cancel_and_stay(api: Api) -> None:
    path = api.create("s", {"a": resource(wait_secs=1), "b": {**resource(), "depends_on": "a"}}, wait=False)
    assert fault(api.post(f"{path}/actions", {"cancel_update": None})) == (
        400, "NotSupported", "Cancelling update when stack is CREATE_IN_PROGRESS is not supported.")
    act(api, path, "cancel_without_rollback")
    stack = api.end(path)
    assert (stack["stack_status"], stack["stack_status_reason"]) == ("CREATE_FAILED", "Stack CREATE cancelled")


@pytest.mark.parametrize("action", ["cancel_update", "cancel_without_rollback"])
def test_nothing_to_cancel(shared: Api, action: str) -> None:
    path = shared.create(f"still-{action}", {})
    assert fault(shared.post(f"{path}/actions", {action: ""})) == (
        400, "NotSupported", "Cancelling update when stack is CREATE_COMPLETE is not supported.")


@pytest.mark.parametrize(("body", "message"), [
    (None, "No action specified"),
    ({}, "No action specified"),
    ({"suspend": None, "resume": None}, "Multiple actions specified"),
    ({"dance": None}, "Invalid action dance specified"),
    ({"snapshot": None}, "Invalid action snapshot specified"),
])
def test_what_makes_no_sense(shared: Api, body: Any, message: str) -> None:
    nowhere = "/stacks/no/00000000-0000-4000-8000-000000000000"
    assert fault(shared.post(f"{nowhere}/actions", body)) == (400, "HTTPBadRequest", message)


@pytest.mark.parametrize("action", ["suspend", "resume", "check", "cancel_update", "cancel_without_rollback"])
def test_each_action_has_a_rule(shared: Api, action: str) -> None:
    path = shared.create(f"ruled-{action}", {})
    shared.rules.forbidden.add(f"actions:{action}")
    try:
        assert fault(shared.post(f"{path}/actions", {action: None})) == (
            403, "Forbidden", f"You are not authorized to use actions:{action}.")
    finally:
        shared.rules.forbidden.clear()


def test_a_deleted_stack_is_not_there(api: Api) -> None:
    path = api.create("gone", {})
    api.delete(path)
    api.end(path)
    for action in ("suspend", "resume", "check", "cancel_update", "cancel_without_rollback"):
        assert fault(api.post(f"{path}/actions", {action: None}))[:2] == (404, "EntityNotFound"), action
    assert fault(api.put(path, {"template": template({})}))[:2] == (404, "EntityNotFound")
    assert fault(api.delete(path))[:2] == (404, "EntityNotFound")


def test_something_newer_may_come_while_something_is_under_way(api: Api) -> None:
    path = api.create("busy", {"a": resource(wait_secs=1)}, wait=False)
    assert api.put(path, {"template": template({"a": resource()})}).status_code == 202
    act(api, path, "check")
    assert api.delete(path).status_code == 204
    assert api.end(path)["stack_status"] == "DELETE_COMPLETE"
