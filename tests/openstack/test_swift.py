"""Containers and signals of Swift on a real cloud; looked at with openstacksdk, and signalled by plain PUTs."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from isotherm import errors
from isotherm.api.http import faults
from isotherm.api.request.instantiation import Instantiation
from isotherm.clock import SystemClock
from isotherm.config import Settings
from isotherm.engine.queries import container_files
from isotherm.identity.requester import Requester
from isotherm.resources.openstack.port import clouds_yaml
from isotherm.resources.openstack.port.cloud import CloudPort, OpenStackCloud
from tests import patience
from tests.clouds import CloudProject

WITHIN_S = 120.0
Run = Callable[..., str]

CONTAINER = """
heat_template_version: 2021-04-16
resources:
  box: {type: OS::Swift::Container, properties: %s}
outputs:
  count: {value: {get_attr: [box, ObjectCount]}}
  bytes: {value: {get_attr: [box, BytesUsed]}}
  root: {value: {get_attr: [box, RootURL]}}
  website: {value: {get_attr: [box, WebsiteURL]}}
  domain: {value: {get_attr: [box, DomainName]}}
  head: {value: {get_attr: [box, HeadContainer, x-container-meta-colour]}}
"""
SIGNAL = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::SwiftSignalHandle}
  other: {type: OS::Heat::SwiftSignalHandle}
%s
outputs:
  url: {value: {get_attr: [handle, endpoint]}}
  command: {value: {get_attr: [handle, curl_cli]}}
"""
WAITING = """
  wait:
    type: OS::Heat::SwiftSignal
    properties: {handle: {get_resource: handle}, timeout: 600, count: %s}
"""


def container(**properties: Any) -> str:
    return CONTAINER % json.dumps(properties)


def outputs(run: Run) -> dict[str, Any]:
    return {one["output_key"]: one["output_value"] for one in json.loads(run("outputs", "s", "--json"))}


def head(project: CloudProject, name: str) -> Any:
    reply = project.sdk.object_store.head(f"/{name}")
    return None if reply.status_code == 404 else reply.headers


def names(project: CloudProject) -> list[str]:
    return sorted(one.name for one in project.sdk.object_store.containers())


def put(url: str, body: str) -> int:
    asked = urllib.request.Request(url, body.encode(), method="PUT")
    try:
        with urllib.request.urlopen(asked, timeout=60) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_container_changes_in_place(run: Run, cloud_project: CloudProject) -> None:
    """Lists of access and metadata are set, changed, removed and repaired; another name is another container."""
    first = {"X-Container-Read": ".r:*", "X-Container-Meta": {"Colour": "red", "size": 3}}
    run("deploy", "s", template=container(**first))
    [name] = names(cloud_project)
    made = head(cloud_project, name)
    assert name.startswith("s-box-")
    assert made["x-container-read"] == ".r:*"
    assert (made["x-container-meta-colour"], made["x-container-meta-size"]) == ("red", "3")
    shown = outputs(run)
    assert (shown["count"], shown["bytes"], shown["head"]) == (0, 0, "red")
    assert shown["website"] == f"{shown['root']}/{name}"
    assert shown["domain"] in shown["root"]
    assert "1 in sync" in run("observe", "s")

    second = {"X-Container-Write": "*:*", "X-Container-Meta": {"Colour": "blue"}, "X-Account-Meta": {"Owner": "me"}}
    run("update", "s", template=container(**second))
    changed = head(cloud_project, name)
    assert (changed["x-container-write"], changed["x-container-meta-colour"]) == ("*:*", "blue")
    assert "x-container-read" not in changed
    assert "x-container-meta-size" not in changed
    assert cloud_project.sdk.object_store.head("/").headers["x-account-meta-owner"] == "me"

    store = cloud_project.sdk.object_store
    store.post(f"/{name}", headers={"X-Container-Meta-Colour": "green", "X-Container-Write": "other:*"})
    drift = run("observe", "s")
    assert "X-Container-Meta" in drift
    assert "X-Container-Write" in drift
    run("converge", "s")
    assert head(cloud_project, name)["x-container-meta-colour"] == "blue"
    store.delete(f"/{name}")
    assert "gone" in run("observe", "s")
    run("converge", "s")
    assert len(names(cloud_project)) == 1

    run("update", "s", template=container(**second, name="mine"))
    assert names(cloud_project) == ["mine"]
    run("delete", "s", "--yes")
    assert names(cloud_project) == []


def test_a_container_of_another_user_is_left_alone(run: Run, cloud_project: CloudProject) -> None:
    store = cloud_project.sdk.object_store
    store.put("/theirs", headers={"X-Container-Meta-Colour": "red"})
    run("deploy", "s", template=container(name="theirs", **{"X-Container-Meta": {"colour": "blue"}}), code=5)
    assert "did not make" in run("show", "s")
    run("delete", "s", "--yes")
    assert head(cloud_project, "theirs")["x-container-meta-colour"] == "red"
    store.delete("/theirs")

    # One that took the place of ours is not deleted either.
    run("deploy", "t", template=container(name="ours"))
    store.delete("/ours")
    store.put("/ours")
    assert "gone" in run("observe", "t")
    run("delete", "t", "--yes")
    assert names(cloud_project) == ["ours"]
    store.delete("/ours")


def test_objects_are_deleted_only_where_the_template_says_so(run: Run, cloud_project: CloudProject) -> None:
    store = cloud_project.sdk.object_store

    def fill() -> None:
        for number in range(3):
            store.put(f"/full/a/{number}", data=b"x")
        patience.until(lambda: head(cloud_project, "full")["x-container-object-count"] == "3", WITHIN_S)

    run("deploy", "s", template=container(name="full"))
    fill()
    run("delete", "s", "--yes", code=5)
    assert "is not empty" in run("show", "s")
    for number in range(3):
        store.delete(f"/full/a/{number}")
    run("delete", "s", "--yes")
    assert names(cloud_project) == []

    run("deploy", "s", template=container(name="full"))
    run("update", "s", template=container(name="full", PurgeOnDelete=True))
    fill()
    run("delete", "s", "--yes")
    assert names(cloud_project) == []


def test_signals_come_as_objects(run: Run, cloud_project: CloudProject) -> None:
    """Each PUT is a signal, one with an id that came before replaces that one, and other handles do not count."""
    run("deploy", "s", template=SIGNAL % "")
    urls = outputs(run)
    assert urls["command"] == f"curl -i -X PUT '{urls['url']}'"
    assert "3 in sync" in run("observe", "s") or "2 in sync" in run("observe", "s")
    for body in ('{"id": "a", "data": 1}', '{"id": "a", "data": 2}', "", '{"data": {"b": 3}}'):
        assert put(urls["url"], body) == 201
    # The URL is for one method on one object.
    with_other_object = urls["url"].replace("?", "x?")
    assert put(with_other_object, "") == 401
    waiting = SIGNAL % (WAITING % 3) + "  data: {value: {get_attr: [wait, data]}}\n"
    run("update", "s", template=waiting)
    data = json.loads(outputs(run)["data"])
    assert data["a"] == 2
    assert list(data.values()) == [2, None, {"b": 3}]
    run("delete", "s", "--yes")
    assert names(cloud_project) == []


def test_a_failure_ends_the_wait(run: Run, cloud_project: CloudProject) -> None:
    run("deploy", "s", template=SIGNAL % "")
    url = outputs(run)["url"]
    late = threading.Timer(2.0, put, (url, '{"status": "FAILURE", "reason": "no disk"}'))
    late.start()
    run("update", "s", template=SIGNAL % (WAITING % 1), code=5)
    late.join()
    assert "no disk" in run("show", "s")
    run("delete", "s", "--yes")
    assert names(cloud_project) == []


DEPLOYMENT = """
heat_template_version: 2021-04-16
resources:
  server: {type: OS::Heat::DeployedServer, properties: {software_config_transport: POLL_SERVER_HEAT}}
  config: {type: OS::Heat::SoftwareConfig, properties: {config: "echo %s", outputs: [{name: result}]}}
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: config}
      server: {get_resource: server}
      signal_transport: TEMP_URL_SIGNAL
outputs:
  result: {value: {get_attr: [deployment, result]}}
"""


def test_a_deployment_is_answered_by_an_object(run: Run, cloud_project: CloudProject) -> None:
    """Each time that the config is applied there is another object; with the deployment all of them go."""
    store = cloud_project.sdk.object_store
    asked: list[str] = []

    def answer(text: str) -> None:
        """Put an answer into the new object, as the server does; the SDK stands for the signed URL here."""
        def new() -> list[str]:
            return [f"{box.name}/{one.name}" for box in store.containers() for one in store.objects(box)
                    if f"{box.name}/{one.name}" not in asked]

        patience.until(new, WITHIN_S)
        asked.extend(new())
        store.put(f"/{asked[-1]}", data=json.dumps({"deploy_status_code": 0, "result": text}).encode())

    for command, text in (("deploy", "one"), ("update", "two"), ("update", "three")):
        answering = threading.Thread(target=answer, args=(text,))
        answering.start()
        run(command, "s", template=DEPLOYMENT % text)
        answering.join()
        assert outputs(run)["result"] == text
    assert len(asked) == 3
    run("delete", "s", "--yes")
    assert names(cloud_project) == []


FILES = {
    "main.yaml": "heat_template_version: 2021-04-16\nresources: {inner: {type: one.yaml, properties: {text: mine}}}\n",
    "one.yaml": "heat_template_version: 2021-04-16\nparameters: {text: {type: string}}\n"
                "resources: {value: {type: OS::Heat::Value, properties: {value: {get_file: note}}}}\n"
                "outputs: {note: {value: {get_attr: [value, value]}}}\n",
    "note": "from the container",
}


def test_files_of_a_request_come_from_a_container(cloud_project: CloudProject) -> None:
    """Its objects are files; those of the request win. What cannot be read is said, and nothing is accepted."""
    store = cloud_project.sdk.object_store
    store.put("/files")
    for name, text in FILES.items():
        store.put(f"/files/{name}", data=text.encode())
    access = clouds_yaml.read(cloud_project.cloud, cloud_project.environment)

    async def read(container: str, known: Collection[str] = (), **changed: Any) -> dict[str, str]:
        cloud = OpenStackCloud(CloudPort(Settings(), SystemClock()), access)
        ports: Any = SimpleNamespace(cloud_of=lambda requester: cloud, settings=replace(Settings(), **changed))
        return await container_files.read(ports, Requester(), container, known)

    async def asked(**body: Any) -> dict[str, str]:
        request = Instantiation(body, Settings())
        await request.read_container(read)
        return request.files()

    def fails(*arguments: Any, **changed: Any) -> str:
        with pytest.raises(errors.UserError) as raised:
            asyncio.run(read(*arguments, **changed))
        return str(raised.value)

    assert asyncio.run(read("files")) == FILES
    assert asyncio.run(asked(files_container="files", files={"note": "given"})) == {**FILES, "note": "given"}
    with pytest.raises(faults.Fault):
        asyncio.run(asked(files_container=["files"]))
    assert "Could not fetch files from container none" in fails("none")
    assert "exceeds maximum allowed (10 bytes)" in fails("files", max_files_size=10)
    store.put("/files/binary", data=b"\xff\xfe")
    assert "binary in container files is not UTF-8" in fails("files")
    for name in [*FILES, "binary"]:
        store.delete(f"/files/{name}")
    store.delete("/files")
