"""build_info, the list of services, and the limits of stack users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

import isotherm
from isotherm.api import routes
from tests.api.conftest import Api, fault, resource

KEYS = {"id", "binary", "host", "hostname", "engine_id", "topic", "report_interval", "created_at", "updated_at",
        "deleted_at", "status"}


def test_what_version_runs(shared: Api) -> None:
    revision = {"revision": isotherm.__version__}
    assert shared.get("/build_info").json() == {"api": revision, "engine": revision}


def test_workers_are_listed(shared: Api) -> None:
    (one,) = shared.get("/services").json()["services"]
    assert set(one) == KEYS
    assert (one["status"], one["binary"], one["deleted_at"]) == ("up", "heat-engine", None)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", one["updated_at"])
    age = datetime.now(UTC) - datetime.fromisoformat(one["updated_at"]).replace(tzinfo=UTC)
    assert 0 <= age.total_seconds() < 60


def test_a_worker_that_was_killed_is_down(api: Api) -> None:
    (api.engine.path / "workers" / "1-dead.lock").touch()
    assert sorted(one["status"] for one in api.get("/services").json()["services"]) == ["down", "up"]


def test_without_workers_there_is_no_service(shared: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isotherm.engine.process.liveness._is_held", lambda path: False)
    assert fault(shared.get("/services")) == (503, "HTTPServiceUnavailable", "All heat engines are down.")


def test_services_are_for_those_whom_the_policy_names(shared: Api) -> None:
    shared.rules.forbidden.add("service:index")
    try:
        assert fault(shared.get("/services")) == (403, "Forbidden", "You are not authorized to use service:index.")
    finally:
        shared.rules.forbidden.clear()


def test_there_is_nothing_else_to_ask_of_services(shared: Api) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "HEAD"):
        answer = shared.ask(method, "/services")
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
    assert shared.post("/build_info").status_code == 405


# Case 29 and 30: a user that stands for a resource.

PLACES = {"stack_name": "s", "resource_name": "own", "arn:arn": "arn:openstack:heat::default:stacks/s/x"}


@pytest.fixture(scope="module")
def stack(shared: Api) -> Any:
    return shared.create("s", {"own": resource(), "other": resource()})


def ask_all(api: Any, id_: Any, name: Any) -> Iterator[Any]:
    """Request every route for a resource of that name; return the rule and the status of each answer."""
    known = {**PLACES, "stack_id": id_, "resource_name": name}
    for route in routes.TABLE:
        path = re.sub(r"{([^}]+)}", lambda found: known.get(found[1], "x"), route.path)
        yield route, api.ask(route.method, path).status_code


def test_one_that_stands_for_a_resource_may_ask_for_that_only(shared: Api, stack: Any) -> None:
    """Every route of the table but two is closed to stack users."""
    id_ = stack.rsplit("/", 1)[1]
    with shared.somebody("default", roles=("heat_stack_user",), stack_user=(id_, "own")):
        for route, status in ask_all(shared, id_, "own"):
            if route.rule == "signed":
                continue
            assert (status != 403) == (route.rule in ("resource:metadata", "resource:signal")), route
        for name in ("other", "none"):
            assert {status for route, status in ask_all(shared, id_, name) if route.rule != "signed"} == {403}
        assert shared.get(f"{stack}/resources/own/metadata").status_code == 200
        for place in (f"{stack}/resources/OWN/metadata", f"/stacks/s/{id_.upper()}/resources/own/metadata"):
            assert shared.get(place).status_code == 403
