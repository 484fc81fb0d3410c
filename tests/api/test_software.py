"""Software configs and deployments through the API, beside those that resources make: one model for both."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.api.conftest import PATIENCE_S, Api, fault

CONFIGS, DEPLOYMENTS = "/software_configs", "/software_deployments"


def make(api: Any, **fields: Any) -> dict[str, Any]:
    answer = api.post(CONFIGS, fields)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()["software_config"]
    return made


def deploy(api: Any, config: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = api.post(DEPLOYMENTS, {"config_id": config["id"], **fields})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()["software_deployment"]
    return made


def test_a_config_with_all_it_can_say(shared: Api) -> None:
    asked = {
        "name": "c", "group": "script", "config": "#!/bin/sh", "options": {"o": 1},
        "inputs": [{"name": "a", "default": "x", "description": "d"},
                   {"name": "b", "type": "Number", "value": 3, "replace_on_change": True}],
        "outputs": [{"name": "out"}, {"name": "bad", "error_output": "true"}],
    }
    made = make(shared, **asked)
    assert set(made) == {"id", "name", "group", "creation_time", "config", "inputs", "outputs", "options"}
    assert made["inputs"] == [
        {"name": "a", "description": "d", "type": "String", "default": "x"},
        {"name": "b", "type": "Number", "replace_on_change": True, "value": 3}]
    assert made["outputs"] == [{"name": "out", "type": "String", "error_output": False},
                               {"name": "bad", "type": "String", "error_output": True}]
    assert shared.get(f"{CONFIGS}/{made['id']}").json() == {"software_config": made}
    assert shared.delete(f"{CONFIGS}/{made['id']}").status_code == 204
    assert fault(shared.get(f"{CONFIGS}/{made['id']}")) == (
        404, "NotFound", f"Software config with id {made['id']} not found")


def test_a_config_that_says_nothing(shared: Api) -> None:
    made = make(shared)
    expected: dict[str, Any] = {"name": None, "group": None, "config": None, "inputs": [], "outputs": [], "options": {}}
    assert {key: made[key] for key in expected} == expected
    assert shared.get(f"{CONFIGS}/{made['id']}").json()["software_config"] == made


@pytest.mark.parametrize(("body", "kind"), [
    ({"inputs": {"name": "a"}}, "HTTPBadRequest"),
    ({"inputs": "a"}, "HTTPBadRequest"),
    ({"outputs": ["a"]}, "HTTPBadRequest"),
    ({"inputs": [{}]}, "ValueError"),
    ({"inputs": [{"name": "a", "type": "Colour"}]}, "ValueError"),
    ({"inputs": [{"name": "a", "colour": "red"}]}, "ValueError"),
    ({"outputs": [{"name": "a", "error_output": "perhaps"}]}, "ValueError"),
    ({"name": 5}, "ValueError"),
    ({"name": "n" * 256}, "ValueError"),
    ({"options": [], "group": {}}, "ValueError"),
    ({"options": "x"}, "ValueError"),
])
def test_a_config_that_makes_no_sense(shared: Api, body: Any, kind: Any) -> None:
    status, type_, message = fault(shared.post(CONFIGS, body))
    assert (status, type_) == (400, kind)
    assert message


def test_a_body_is_needed(shared: Api) -> None:
    for path in (CONFIGS, DEPLOYMENTS):
        assert fault(shared.post(path))[:2] == (400, "HTTPBadRequest")


def test_configs_are_listed_newest_first_and_in_pages(api: Api) -> None:
    ids = [make(api, name=f"c{number}", config="x")["id"] for number in range(4)][::-1]
    listed = api.get(CONFIGS).json()["software_configs"]
    assert [one["id"] for one in listed] == ids
    assert set(listed[0]) == {"id", "name", "group", "creation_time", "project"}  # an admin asks
    page = api.get(CONFIGS, limit=2).json()["software_configs"]
    rest = api.get(CONFIGS, limit=9, marker=page[-1]["id"]).json()["software_configs"]
    assert [one["id"] for one in page + rest] == ids
    assert len(api.get(CONFIGS, marker="unknown").json()["software_configs"]) == 4
    assert api.get(CONFIGS, limit=0).json()["software_configs"] == []
    assert api.get(CONFIGS, limit="x").status_code == 400


def test_projects_see_only_their_own(api: Api) -> None:
    mine = make(api, name="mine")
    deployed = deploy(api, mine, server_id="s")
    with api.somebody("other"):
        assert api.get(CONFIGS).json() == {"software_configs": []}
        assert api.get(DEPLOYMENTS).json() == {"software_deployments": []}
        assert api.get(f"{DEPLOYMENTS}/metadata/s").json() == {"metadata": []}
        theirs = make(api, name="theirs")
        assert [set(one) for one in api.get(CONFIGS).json()["software_configs"]] == [
            {"id", "name", "group", "creation_time"}]
        for path in (f"{CONFIGS}/{mine['id']}", f"{DEPLOYMENTS}/{deployed['id']}"):
            assert (api.get(path).status_code, api.delete(path).status_code) == (404, 404)
        assert api.put(f"{DEPLOYMENTS}/{deployed['id']}", {"status": "FAILED"}).status_code == 404
        assert fault(api.post(DEPLOYMENTS, {"config_id": mine["id"]}))[:2] == (400, "Invalid")
        api.rules.forbidden.add("software_configs:global_index")
        assert fault(api.get(CONFIGS, global_tenant="true")) == (
            403, "Forbidden", "You are not authorized to use software_configs:global_index.")
        api.rules.forbidden.clear()
    everywhere = api.get(CONFIGS, global_tenant="true").json()["software_configs"]
    assert {(one["id"], one["project"]) for one in everywhere} == {(mine["id"], "default"), (theirs["id"], "other")}


def test_a_deployment_from_its_creation_to_its_end(shared: Api) -> None:
    config = make(shared, name="one", config="x")
    other = make(shared, name="another", config="y")
    made = deploy(shared, config, server_id="server-1", input_values={"a": 1}, action="CREATE", status="IN_PROGRESS",
                  status_reason="", stack_user_project_id="p" * 64)
    expected = {"server_id": "server-1", "config_id": config["id"], "input_values": {"a": 1}, "output_values": None,
                "action": "CREATE", "status": "IN_PROGRESS", "status_reason": ""}
    assert {key: value for key, value in made.items() if key not in ("id", "creation_time")} == expected
    path = f"{DEPLOYMENTS}/{made['id']}"
    assert shared.get(path).json() == {"software_deployment": made}
    changed = shared.put(path, {"status": "COMPLETE", "output_values": {"o": 2}, "action": None, "config_id": other["id"],
                                "input_values": {}}).json()["software_deployment"]
    assert changed.pop("updated_time")
    assert changed == {**made, "status": "COMPLETE", "output_values": {"o": 2}, "config_id": other["id"]}
    assert shared.delete(path).status_code == 204
    for answer in (shared.get(path), shared.put(path, {"status": "FAILED"}), shared.delete(path)):
        assert fault(answer) == (404, "NotFound", f"Deployment with id {made['id']} not found")


def test_a_deployment_that_says_little(shared: Api) -> None:
    made = deploy(shared, make(shared))
    told = {key: made[key] for key in ("server_id", "input_values", "output_values", "action", "status", "status_reason")}
    assert told == {**dict.fromkeys(told), "status_reason": "None"}


@pytest.mark.parametrize(("body", "kind"), [
    ({}, "ValueError"),
    ({"config_id": None}, "ValueError"),
    ({"config_id": "unknown"}, "Invalid"),
    ({"config_id": 7}, "ValueError"),
    ({"config_id": "x", "input_values": []}, "ValueError"),
    ({"config_id": "x", "stack_user_project_id": "p" * 65}, "Invalid"),
    ({"config_id": "x", "server_id": {}}, "ValueError"),
])
def test_a_deployment_that_makes_no_sense(shared: Api, body: Any, kind: Any) -> None:
    """Heat answers 500 to some of these."""
    status, type_, message = fault(shared.post(DEPLOYMENTS, body))
    assert (status, type_) == (400, kind)
    assert message


def test_a_config_that_is_deployed_stays(shared: Api) -> None:
    config = make(shared)
    made = deploy(shared, config)
    status, kind, message = fault(shared.delete(f"{CONFIGS}/{config['id']}"))
    assert (status, kind) == (409, "InvalidRestrictedAction")
    assert message == f"Software config with id {config['id']} can not be deleted as it is referenced."
    assert fault(shared.put(f"{DEPLOYMENTS}/{made['id']}", {"config_id": "gone"}))[:2] == (400, "Invalid")
    shared.delete(f"{DEPLOYMENTS}/{made['id']}")
    assert shared.delete(f"{CONFIGS}/{config['id']}").status_code == 204


def test_what_a_server_is_to_apply(shared: Api) -> None:
    b, a = make(shared, name="b", config="2"), make(shared, name="a", config="1")
    first, second = deploy(shared, b, server_id="m"), deploy(shared, a, server_id="m")
    deploy(shared, a, server_id="n")
    assert shared.get(f"{DEPLOYMENTS}/metadata/m").json() == {"metadata": [a, b]}
    assert shared.get(DEPLOYMENTS, server_id="m").json() == {"software_deployments": [first, second]}
    assert len(shared.get(DEPLOYMENTS).json()["software_deployments"]) >= 3


def test_limits_hold_however_many_ask_at_once(with_options: Callable[..., Api]) -> None:
    api = with_options(max_software_configs_per_tenant=3, max_software_deployments_per_tenant=2)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api.post(CONFIGS, {"config": "x"}), range(8)))
    assert sorted(one.status_code for one in answers) == [200] * 3 + [400] * 5
    status, kind, message = fault(api.post(CONFIGS, {}))
    assert (status, kind) == (400, "RequestLimitExceeded")
    assert message.startswith("Request limit exceeded: You have reached the maximum software configs per tenant, 3.")
    config = {"id": api.get(CONFIGS).json()["software_configs"][0]["id"]}
    made = [deploy(api, config) for _ in range(2)]
    assert fault(api.post(DEPLOYMENTS, {"config_id": config["id"]}))[1] == "RequestLimitExceeded"
    assert api.put(f"{DEPLOYMENTS}/{made[0]['id']}", {"status": "FAILED"}).status_code == 200


def test_a_resource_hears_what_the_api_is_told_of_its_deployment(api: Api) -> None:
    path = api.create("s", {
        "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "x", "outputs": [{"name": "o"}]}},
        "server": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}},
        "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": {"get_resource": "config"}, "server": {"get_resource": "server"}, "signal_transport": "HEAT_SIGNAL"}},
    }, wait=False)
    until = time.monotonic() + PATIENCE_S
    while not (found := api.get(DEPLOYMENTS).json()["software_deployments"]):
        assert time.monotonic() < until, api.get(path).text
        time.sleep(0.02)
    (made,) = found
    assert (made["action"], made["status"]) == ("CREATE", "IN_PROGRESS")
    assert len(api.get(CONFIGS).json()["software_configs"]) == 2  # that of the template, and the derived one
    api.put(f"{DEPLOYMENTS}/{made['id']}", {"status": "COMPLETE", "output_values": {"o": 1}})
    assert api.end(path)["stack_status"] == "CREATE_COMPLETE"
    api.delete(path)
    api.end(path)
    assert api.get(DEPLOYMENTS).json() == {"software_deployments": []}
