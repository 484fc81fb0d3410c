"""User data on a real cloud, read back from Nova, and agents that log in as stack users of a real Keystone."""

from __future__ import annotations

import base64
import email
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from isotherm.cli import codes
from tests import patience, stack_domain
from tests.clouds import CloudProject
from tests.stack_domain import StackDomain
from tools import instance
from tools.identity import seed

Run = Callable[..., str]
WITHIN_S = 240.0
SERVER: dict[str, Any] = {"image": "cirros", "flavor": "m1.nano", "networks": [{"allocate_network": "none"}]}
COLLECTED = {**SERVER, "user_data_format": "SOFTWARE_CONFIG"}
FORMATS = {
    "script": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "#!/bin/sh\necho from-config"}},
    "cloudy": {"type": "OS::Heat::CloudConfig", "properties": {"cloud_config": {"runcmd": ["from-cloud-config"]}}},
    "mime": {"type": "OS::Heat::MultipartMime", "properties": {"parts": [
        {"config": {"get_resource": "script"}}, {"config": {"get_resource": "cloudy"}, "type": "text"}]}},
    "raw": {"type": "OS::Nova::Server", "properties": {
        **SERVER, "user_data_format": "RAW", "user_data": {"get_resource": "script"}}},
    "tools": {"type": "OS::Nova::Server", "metadata": {"a": "b"}, "properties": {**SERVER, "user_data": "#!/bin/sh\n"}},
    "collected": {"type": "OS::Nova::Server", "properties": {**COLLECTED, "user_data": {"get_resource": "mime"}}},
}


def template(resources: dict[str, Any]) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def user_data(project: CloudProject) -> dict[str, str]:
    """Return the user data that Nova has of each server, by the names of the resources."""
    found = {}
    for one in project.admin.compute.servers(all_projects=True, project_id=project.id):
        shown = project.admin.compute.get(f"/servers/{one.id}", microversion="2.67").json()["server"]
        found[one.name.split("-")[1]] = base64.b64decode(shown["OS-EXT-SRV-ATTR:user_data"]).decode()
    return found


def parts(text: str) -> dict[str, str]:
    whole = email.message_from_string(text)
    assert whole.is_multipart()
    return {str(part.get_filename()): part.get_payload(decode=True).decode()  # type: ignore[union-attr]  # no parts inside
            for part in whole.walk() if not part.is_multipart()}


def test_each_format_is_what_nova_has(run: Run, cloud_project: CloudProject) -> None:
    run("deploy", "s", template=template(FORMATS))
    found = user_data(cloud_project)
    assert found["raw"] == "#!/bin/sh\necho from-config"
    tools = parts(found["tools"])
    assert (tools["cfn-userdata"], json.loads(tools["cfn-init-data"])) == ("#!/bin/sh\n", {"a": "b"})
    assert "from-config" in found["collected"]
    assert "from-cloud-config" in found["collected"]
    # No API is served: there is nothing to poll, and the agent is told so.
    assert json.loads(parts(found["collected"])["cfn-init-data"]) == {
        "deployments": [], "os-collect-config": {"collectors": ["ec2", "local"]}}

    # A rebuild gives the server other user data; the metadata of the resource is in it.
    changed = json.loads(json.dumps(FORMATS))
    before = {one.id for one in cloud_project.sdk.compute.servers()}
    changed["tools"]["properties"].update(user_data="#!/bin/sh\nother", user_data_update_policy="REBUILD")
    changed["raw"]["properties"]["user_data_update_policy"] = "IGNORE"
    changed["script"]["properties"]["config"] = "#!/bin/sh\necho changed"
    del changed["mime"], changed["collected"]
    run("update", "s", template=template(changed))
    after = user_data(cloud_project)
    assert parts(after["tools"])["cfn-userdata"] == "#!/bin/sh\nother"
    assert after["raw"] == found["raw"]
    assert {one.id for one in cloud_project.sdk.compute.servers()} < before
    run("delete", "s", "--yes")


def test_a_transport_that_needs_the_service_is_refused(run: Run, cloud_project: CloudProject) -> None:
    heat = {"server": {"type": "OS::Nova::Server", "properties": {
        **COLLECTED, "software_config_transport": "POLL_SERVER_HEAT"}}}
    said = run("deploy", "s", template=template(heat), code=codes.FAILED)
    assert "stack_user_domain_id" in said
    assert list(cloud_project.sdk.compute.servers()) == []
    run("delete", "s", "--yes")


def test_deployments_reach_a_server_without_any_api(run: Run, cloud_project: CloudProject) -> None:
    """The agent reads an object of Swift at the URL in its user data, and answers at that of the deployment."""
    server: Any = {"type": "OS::Nova::Server", "metadata": {"a": "b"}, "properties": {
        **COLLECTED, "software_config_transport": "POLL_TEMP_URL"}}
    deployments = {name: {"type": "OS::Heat::SoftwareDeployment", "properties": {
        "config": {"get_resource": "script"}, "server": {"get_resource": "server"},
        "signal_transport": "TEMP_URL_SIGNAL"}} for name in ("one", "two", "three")}
    resources = {"server": server, "script": FORMATS["script"], **deployments}
    answered: list[str] = []

    def read() -> Any:
        """Return what the agent reads; nothing while there is no server."""
        found = user_data(cloud_project)
        if "server" not in found:
            return {"deployments": []}
        agent = json.loads(parts(found["server"])["cfn-init-data"])["os-collect-config"]
        assert agent["collectors"] == ["ec2", "request", "local"]
        answer = httpx2.get(agent["request"]["metadata_url"], trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def guest() -> None:
        patience.until(lambda: len(read()["deployments"]) == len(deployments), WITHIN_S)
        for one in read()["deployments"]:
            inputs = {each["name"]: each["value"] for each in one["inputs"]}
            put = httpx2.put(inputs["deploy_signal_id"], content='{"deploy_status_code": 0}', trust_env=False)
            assert (inputs["deploy_signal_verb"], put.status_code) == ("PUT", 201)
            answered.append(one["id"])

    booted = threading.Thread(target=guest)
    booted.start()
    run("deploy", "s", template=template(resources))
    booted.join()
    assert len(set(answered)) == len(deployments)
    assert (read()["a"], len(read()["deployments"])) == ("b", len(deployments))

    # Other metadata, and a deployment less: the object follows.
    changed = {name: one for name, one in resources.items() if name != "three"}
    run("update", "s", template=template({**changed, "server": {**server, "metadata": {"a": "c"}}}))
    assert (read()["a"], len(read()["deployments"])) == ("c", len(deployments) - 1)
    run("delete", "s", "--yes")
    assert list(cloud_project.sdk.object_store.containers()) == []


@pytest.fixture
def domain(cloud_project: CloudProject) -> Iterator[StackDomain]:
    auth = str(cloud_project.admin.config.auth["auth_url"])
    with stack_domain.made(seed.Api(auth, seed.log_in(auth, seed.PEOPLE["admin"]))) as it:
        yield it


@pytest.fixture
def service(cloud_project: CloudProject, domain: StackDomain, tmp_path: Path) -> Iterator[instance.Isotherm]:
    auth = str(cloud_project.admin.config.auth["auth_url"])
    identity = {"www_authenticate_uri": auth, "auth_type": "password", "auth_url": auth, "username": "isotherm",
                "password": seed.PASSWORD, "user_domain_id": "default", "project_name": "service",
                "project_domain_id": "default", "region_name": seed.REGION}
    with instance.isotherm(tmp_path / "service", instance.with_keystone(identity, **domain.options)) as it:
        yield it


def token(cloud_project: CloudProject, user: dict[str, Any], project: str) -> str:
    auth = str(cloud_project.admin.config.auth["auth_url"])
    answer = httpx2.post(f"{auth}/auth/tokens", trust_env=False, json={"auth": {
        "identity": {"methods": ["password"], "password": {"user": user}}, "scope": {"project": {"id": project}}}})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["X-Subject-Token"])


def test_deployments_reach_a_server_whose_agent_logs_in(
    cloud_project: CloudProject, service: instance.Isotherm, domain: StackDomain
) -> None:
    """As OpenStack's own ParallelDeployments: several deployments to one server, answered at the URLs in its metadata."""
    mine = token(cloud_project, {"id": cloud_project.user_id, "password": cloud_project.password}, cloud_project.id)

    def ask(method: str, path: str, body: Any = None, token: str = mine, project: str = "") -> httpx2.Response:
        url = f"{service.url}/v1/{project or cloud_project.id}{path}"
        return httpx2.request(method, url, json=body, headers={"X-Auth-Token": token}, trust_env=False, timeout=60)

    server = {"server": {"type": "OS::Nova::Server", "properties": {
        **COLLECTED, "software_config_transport": "POLL_SERVER_HEAT"}}}
    deployments = {name: {"type": "OS::Heat::SoftwareDeployment", "properties": {
        "config": {"get_resource": "config"}, "server": {"get_resource": "server"}}} for name in ("one", "two", "three")}
    whole = {**server, "config": FORMATS["script"], **deployments}
    answer = ask("POST", "/stacks", {"stack_name": "s", "template": json.loads(template(whole))})
    assert answer.status_code == 201, answer.text
    path = f"/stacks/s/{answer.json()['stack']['id']}"

    def metadata(**who: str) -> Any:
        answer = ask("GET", f"{path}/resources/server/metadata", **who)
        return answer.json()["metadata"] if answer.status_code == 200 else {"deployments": [], "said": answer.text}

    # The metadata of a server that is not made yet is empty.
    patience.until(lambda: len(metadata().get("deployments", ())) == len(deployments), WITHIN_S)
    agent = json.loads(parts(user_data(cloud_project)["server"])["cfn-init-data"])["os-collect-config"]["heat"]
    guest = token(cloud_project, {"id": agent["user_id"], "password": agent["password"]}, agent["project_id"])
    assert metadata(token=guest, project=agent["project_id"]) == metadata()
    for one in metadata()["deployments"]:
        inputs = {each["name"]: each["value"] for each in one["inputs"]}
        assert httpx2.post(inputs["deploy_signal_id"], content="{}", trust_env=False).status_code == 200
    patience.until(lambda: ask("GET", path).json()["stack"]["stack_status"] == "CREATE_COMPLETE", WITHIN_S)

    # Another transport is told in place, and the agent is told to forget the former one.
    [before] = cloud_project.sdk.compute.servers()
    other = json.loads(json.dumps(whole).replace("POLL_SERVER_HEAT", "POLL_SERVER_CFN"))
    assert ask("PUT", path, {"template": json.loads(template(other))}).status_code == 202
    patience.until(lambda: ask("GET", path).json()["stack"]["stack_status"] == "UPDATE_COMPLETE", WITHIN_S)
    [after] = cloud_project.sdk.compute.servers()
    told = metadata()["os-collect-config"]
    assert (after.id, told["collectors"], told["cfn"]["path"]) == (before.id, ["ec2", "cfn", "local"], "server.Metadata")
    assert set(told["heat"].values()) == {None}
    assert ask("DELETE", path).status_code == 204
    patience.until(lambda: not list(cloud_project.sdk.compute.servers()), WITHIN_S)
    patience.until(lambda: not domain.users() and not domain.projects(), WITHIN_S)
    # The trust goes with the stack.
    patience.until(lambda: not list(_trusts(cloud_project)), WITHIN_S)


def _trusts(project: CloudProject) -> list[Any]:
    identity: Any = project.sdk.identity
    return list(identity.trusts(trustor_user_id=project.user_id))
