"""Stack users in a real Keystone: made when first needed, for one resource alone, and deleted with it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import hmac
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as Xml

import httpx2
import pytest

from isotherm import errors
from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.identity.requester import Requester
from isotherm.identity.stack_users import KeystoneStackUsers
from isotherm.resources import contract
from isotherm.resources.context import local_access
from isotherm.resources.context.stack_users import StackUser
from isotherm.resources.openstack import rest
from isotherm.store import stack_users as rows
from tests import databases, patience, stack_domain
from tests.stack_domain import StackDomain
from tools import instance
from tools.keystone import Keystone

T = TypeVar("T")
WITHIN_S = 180.0
TEMPLATE: dict[str, Any] = {"heat_template_version": "2021-04-16", "resources": {
    "polling": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_HEAT"}},
    "signed": {"type": "OS::Heat::DeployedServer", "properties": {"software_config_transport": "POLL_SERVER_CFN"}},
    "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "HEAT_SIGNAL"}},
    "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": "#!/bin/sh", "group": "script"}},
    "deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {
        "config": {"get_resource": "config"}, "server": {"get_resource": "polling"}, "signal_transport": "HEAT_SIGNAL"}},
}, "outputs": {"signal": {"value": {"get_attr": ["handle", "signal"]}}}}


@pytest.fixture(scope="module")
def domain(keystone: Keystone) -> Iterator[StackDomain]:
    with stack_domain.made(keystone.admin()) as it:
        yield it


@pytest.fixture(scope="module")
def service(
    keystone: Keystone, domain: StackDomain, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[instance.Isotherm]:
    """`isotherm up` with that Keystone and a domain of stack users."""
    options = instance.with_keystone(keystone.options(), **domain.options)
    with instance.isotherm(tmp_path_factory.mktemp("home"), options) as it:
        keystone.point(it.url)
        yield it


@dataclasses.dataclass
class Client:
    """A user of the service, with a token."""

    url: str
    project: str
    token: str

    def ask(self, method: str, path: str, body: Any = None, project: str = "") -> httpx2.Response:
        return httpx2.request(method, f"{self.url}/v1/{project or self.project}{path}", json=body, timeout=60,
                              headers={"X-Auth-Token": self.token}, trust_env=False)

    def stack(self, path: str) -> dict[str, Any]:
        answer = self.ask("GET", path)
        return answer.json()["stack"] if answer.status_code == 200 else {"stack_status": str(answer.status_code)}

    def reaches(self, path: str, *wanted: str) -> None:
        patience.until(lambda: self.stack(path)["stack_status"] in wanted, WITHIN_S)

    def metadata(self, path: str, resource: str) -> Any:
        answer = self.ask("GET", f"{path}/resources/{resource}/metadata")
        assert answer.status_code == 200, answer.text
        return answer.json()["metadata"]


@pytest.fixture
def demo(keystone: Keystone, service: instance.Isotherm) -> Client:
    return Client(service.url, keystone.project("demo"), keystone.token("demo"))


def logged_in(url: str, keystone: Keystone, user: Mapping[str, str]) -> Client:
    """Log in as a guest does, with what its metadata says."""
    assert user["auth_url"] == keystone.v3
    body = {"auth": {"identity": {"methods": ["password"], "password": {
        "user": {"id": user["user_id"], "password": user["password"]}}},
        "scope": {"project": {"id": user["project_id"]}}}}
    answer = httpx2.post(f"{user['auth_url']}/auth/tokens", json=body, trust_env=False)
    assert answer.status_code == 201, answer.text
    return Client(url, user["project_id"], answer.headers["X-Subject-Token"])


def collected(agent: Mapping[str, str]) -> Any:
    """Read metadata as os-collect-config does, with a request that is signed with an EC2 key."""
    url = urlsplit(agent["metadata_url"])
    params = {"Action": "DescribeStackResource", "StackName": agent["stack_name"],
              "SignatureVersion": "2", "SignatureMethod": "HmacSHA256",
              "LogicalResourceId": agent["path"].partition(".")[0], "AWSAccessKeyId": agent["access_key_id"]}
    query = "&".join(f"{quote(name, safe='-_~')}={quote(params[name], safe='-_~')}" for name in sorted(params))
    text = "\n".join(["GET", url.netloc, url.path, query])
    signature = hmac.digest(agent["secret_access_key"].encode(), text.encode(), "sha256")
    params["Signature"] = base64.b64encode(signature).decode()
    answer = httpx2.get(agent["metadata_url"], params=params, trust_env=False)
    assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
    text = Xml.fromstring(answer.text).findtext("DescribeStackResourceResult/StackResourceDetail/Metadata") or ""
    return json.loads(text)


def waits(demo: Client, path: str) -> bool:
    return bool(demo.metadata(path, "polling")["deployments"])


def test_stack_users_live_and_die_with_their_resources(
    demo: Client, keystone: Keystone, domain: StackDomain, service: instance.Isotherm
) -> None:
    """A whole life: poll, signal, suspend, resume, another transport, delete. No user acts on another's resource."""
    made = demo.ask("POST", "/stacks", {"stack_name": "s", "template": TEMPLATE})
    assert made.status_code == 201, made.text
    path = f"/stacks/s/{made.json()['stack']['id']}"
    patience.until(lambda: waits(demo, path), WITHIN_S)

    [project] = domain.projects()
    assert project["name"] == f"{demo.project}-{made.json()['stack']['id']}"[:64]
    assert demo.stack(path)["stack_user_project_id"] == project["id"]
    found = demo.ask("GET", f"/stacks?stack_user_project_id={project['id']}").json()["stacks"]
    assert [(one["stack_name"], one["stack_user_project_id"]) for one in found] == [("s", project["id"])]
    users = {one["name"].removeprefix("s-").partition("-")[0]: one["id"] for one in domain.users()}
    assert set(users) == {"polling", "signed", "handle", "deployment"}
    assert all(domain.roles(one, project["id"]) == ["heat_stack_user"] for one in users.values())

    shown = demo.metadata(path, "polling")
    assert shown["os-collect-config"]["collectors"] == ["heat", "local"]
    guest = logged_in(service.url, keystone, shown["os-collect-config"]["heat"])
    # What os-collect-config does: its own project, from the catalogue.
    assert guest.metadata(path, "polling") == shown
    # The user of one resource may neither use another resource nor any other route.
    for method, other in (("GET", f"{path}/resources/signed/metadata"), ("POST", f"{path}/resources/handle/signal"),
                          ("POST", f"{path}/resources/deployment/signal"), ("GET", path), ("GET", "/stacks"),
                          ("GET", f"{path}/resources/polling"), ("DELETE", path), ("GET", "/software_configs"),
                          ("GET", f"/software_deployments/metadata/{users['polling']}")):
        answer = guest.ask(method, other, {} if method == "POST" else None)
        assert answer.status_code == 403, (method, other, answer.text)
    assert guest.ask("GET", f"{path}/resources/polling/metadata", project=keystone.project("other")).status_code == 403

    signed = demo.metadata(path, "signed")["os-collect-config"]["cfn"]
    [key] = domain.keys(users["signed"])
    assert key == {"access": signed["access_key_id"], "secret": signed["secret_access_key"]}
    assert signed["path"] == "signed.Metadata"
    assert domain.keys(users["polling"]) == []

    assert collected(signed) == demo.metadata(path, "signed")
    for changes in ({"secret_access_key": "0" * 32}, {"path": "polling.Metadata"}, {"access_key_id": "0" * 32},
                    {"stack_name": f"s/{uuid.uuid4()}"}):
        with pytest.raises(AssertionError, match="403"):
            collected({**signed, **changes})

    [todo] = shown["deployments"]
    inputs = {one["name"]: one["value"] for one in todo["inputs"]}
    assert "deploy_signal_id" not in inputs
    sender = logged_in(service.url, keystone, {name: inputs[f"deploy_{name}"]
                                               for name in ("auth_url", "user_id", "password", "project_id")})
    assert sender.ask("POST", f"{path}/resources/handle/signal", {}).status_code == 403
    assert sender.ask("POST", f"{path}/resources/deployment/signal", {"deploy_status_code": 0}).status_code == 200
    demo.reaches(path, "CREATE_COMPLETE")
    outputs = {one["output_key"]: one["output_value"] for one in demo.stack(path)["outputs"]}
    announced = json.loads(outputs["signal"])
    waiter = logged_in(service.url, keystone, announced)
    assert announced["alarm_url"].startswith(f"{service.url}/v1/{project['id']}/stacks/s/")
    assert waiter.ask("POST", f"{path}/resources/handle/signal", {"data": "x"}).status_code == 200

    demo.ask("POST", f"{path}/actions", {"suspend": None})
    demo.reaches(path, "SUSPEND_COMPLETE")
    assert [one["enabled"] for one in domain.users() if one["name"] != domain.name] == [False] * 4
    demo.ask("POST", f"{path}/actions", {"resume": None})
    demo.reaches(path, "RESUME_COMPLETE")
    assert [one["enabled"] for one in domain.users()] == [True] * 4

    other = json.loads(json.dumps(TEMPLATE))
    other["resources"]["polling"]["properties"]["software_config_transport"] = "POLL_SERVER_CFN"
    assert demo.ask("PUT", path, {"template": other}).status_code == 202
    demo.reaches(path, "UPDATE_COMPLETE")
    agent = demo.metadata(path, "polling")["os-collect-config"]
    assert set(agent["heat"].values()) == {None}
    assert [one["access"] for one in domain.keys(users["polling"])] == [agent["cfn"]["access_key_id"]]
    stored = databases.text(service.home)
    assert all(secret not in stored for secret in (inputs["deploy_password"], key["secret"]))

    kept = [agent["cfn"]["access_key_id"], signed["access_key_id"]]
    assert demo.ask("DELETE", path).status_code == 204
    demo.reaches(path, "404", "DELETE_COMPLETE")
    # At once, although the token is still good.
    assert guest.ask("GET", f"{path}/resources/polling/metadata").status_code in (401, 404)
    patience.until(lambda: not domain.users() and not domain.projects(), WITHIN_S)
    credentials = domain.api.call("GET", "/credentials")["credentials"]
    assert not [one for one in credentials if any(access in one["blob"] for access in kept)]


def test_a_replaced_resource_has_another_user(demo: Client, domain: StackDomain) -> None:
    whole = {"heat_template_version": "2021-04-16", "resources": {"handle": TEMPLATE["resources"]["handle"]}}
    made = demo.ask("POST", "/stacks", {"stack_name": "r", "template": whole})
    path = f"/stacks/r/{made.json()['stack']['id']}"
    demo.reaches(path, "CREATE_COMPLETE")
    [before] = domain.users()
    assert demo.ask("PATCH", f"{path}/resources/handle", {"mark_unhealthy": True}).status_code == 200
    assert demo.ask("PUT", path, {"template": whole}).status_code == 202
    demo.reaches(path, "UPDATE_COMPLETE")
    patience.until(lambda: len(domain.users()) == 1, WITHIN_S)
    assert domain.users()[0]["id"] != before["id"]
    demo.ask("DELETE", path)
    patience.until(lambda: not domain.users() and not domain.projects(), WITHIN_S)


# Crashes: without a service, so that each request can be the last one of a process.


class Dying:
    """Keystone, whose client dies before or after the request of this number that changes something."""

    def __init__(self, cloud: contract.Cloud, number: int, when: str) -> None:
        self._cloud, self._left, self._when = cloud, number, when

    @property
    def credential(self) -> contract.Credential:
        return self._cloud.credential

    def of_stack(self, stack_id: str) -> contract.Cloud:
        return self

    async def call(self, service: str, call: local_access.Call) -> local_access.Reply:
        if call.method == "GET":
            return await self._cloud.call(service, call)
        self._left -= 1
        if self._left == 0 and self._when == "before":
            raise asyncio.CancelledError
        reply = await self._cloud.call(service, call)
        if self._left == 0:
            raise asyncio.CancelledError
        return reply

    async def endpoint(self, service: str) -> str:
        return await self._cloud.endpoint(service)

    async def project_id(self) -> str:
        return await self._cloud.project_id()


class Site:
    """An engine that does not drive, with a stack whose only resource is a stack user's."""

    def __init__(self, folder: Path, keystone: Keystone, domain: StackDomain) -> None:
        instance.write_options(folder / "isotherm.conf", instance.with_keystone(keystone.options(), **domain.options))
        self.engine = Embedded(folder)
        assert self.engine.clouds.stack_users is not None
        self.users = self.engine.clouds.stack_users
        self.token = str(uuid.uuid4())

    def dying(self, number: int, when: str) -> KeystoneStackUsers:
        identity = rest.Service(Dying(self.users.domain.identity.cloud, number, when), "identity")
        return dataclasses.replace(self.users, domain=dataclasses.replace(self.users.domain, identity=identity))

    async def stack(self) -> str:
        template = {"heat_template_version": "2021-04-16", "resources": {}}
        made = await self.engine.orchestrator_for(Requester("p")).stacks.create("s", Request(json.dumps(template)))
        return made.stack_id


@pytest.fixture
def site(keystone: Keystone, domain: StackDomain, tmp_path: Path) -> Iterator[Site]:
    it = Site(tmp_path, keystone, domain)
    yield it
    it.engine.close()


def run(story: Callable[[], Awaitable[T]]) -> T:
    async def it() -> T:
        return await story()

    return asyncio.run(it())


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_crash_at_any_request_leaves_one_user(site: Site, domain: StackDomain, number: int, when: str) -> None:
    """Requests: the project, the user, its role, its EC2 key."""

    async def story() -> StackUser:
        stack_id = await site.stack()
        with pytest.raises(asyncio.CancelledError):
            await site.dying(number, when).ensure(stack_id, site.token, "a", with_key=True)
        user = await site.users.ensure(stack_id, site.token, "a", with_key=True)
        assert await site.users.find(site.token) == user
        assert await site.users.ensure(stack_id, site.token, "a", with_key=True) == user
        return user

    user = run(story)
    assert [one["id"] for one in domain.users()] == [user.user_id]
    assert [one["id"] for one in domain.projects()] == [user.project_id]
    assert domain.keys(user.user_id) == [{"access": user.access_key, "secret": user.secret_key}]
    assert domain.roles(user.user_id, user.project_id) == ["heat_stack_user"]
    end_all(domain)


def test_a_user_that_was_never_confirmed_is_deleted_too(site: Site, domain: StackDomain) -> None:
    """The process died after Keystone had created the user, and the resource never came to be."""

    async def story() -> None:
        stack_id = await site.stack()
        with pytest.raises(asyncio.CancelledError):
            await site.dying(2, "after").ensure(stack_id, site.token, "a")
        assert len(domain.users()) == 1
        await site.users.sweep()

    run(story)
    assert domain.users() == []
    assert len(domain.projects()) == 1
    end_all(domain)


def test_a_request_in_flight_is_waited_for(site: Site, domain: StackDomain) -> None:
    """Nothing is found of a user that was asked for a moment ago: its row stays, since the user may still come."""

    async def story() -> None:
        stack_id = await site.stack()
        with pytest.raises(asyncio.CancelledError):
            await site.dying(2, "before").ensure(stack_id, site.token, "a")
        await site.users.sweep()
        assert await site.users.store.read(lambda connection: rows.of_version(connection, site.token)) is not None
        late = dataclasses.replace(site.users, clock=_Later(site.engine.clock))
        await late.sweep()
        assert await site.users.store.read(lambda connection: rows.of_version(connection, site.token)) is None

    run(story)
    end_all(domain)


class _Later:
    def __init__(self, clock: Any) -> None:
        self._clock = clock

    def now(self) -> float:
        return float(self._clock.now()) + 3600


def test_a_user_that_is_gone_is_said_so(site: Site, domain: StackDomain) -> None:
    async def story() -> None:
        stack_id = await site.stack()
        user = await site.users.ensure(stack_id, site.token, "a")
        domain.api.call("DELETE", f"/users/{user.user_id}")
        with pytest.raises(errors.Permanent, match="is gone from Keystone"):
            await site.users.set_enabled(site.token, False)

    run(story)
    end_all(domain)


def test_a_wrong_password_of_the_administrator_is_said(site: Site) -> None:
    async def story() -> None:
        cloud = site.users.domain.identity.cloud
        access = cloud.access  # type: ignore[attr-defined]  # the adapter of OpenStack
        login = dataclasses.replace(access.login, secret="wrong")
        wrong = dataclasses.replace(cloud, access=dataclasses.replace(access, login=login))  # type: ignore[type-var]
        users = dataclasses.replace(
            site.users, domain=dataclasses.replace(site.users.domain, identity=rest.Service(wrong, "identity")))
        with pytest.raises(errors.Permanent, match="refused the password"):
            await users.ensure(await site.stack(), site.token, "a")

    run(story)


def end_all(domain: StackDomain) -> None:
    for user in domain.users():
        domain.api.call("DELETE", f"/users/{user['id']}")
    for project in domain.projects():
        domain.api.call("DELETE", f"/projects/{project['id']}")
