"""Names and constraints that need a cloud: asked with the right credential, asynchronously, and once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.engine import contexts, service_ports
from isotherm.planning import desired
from isotherm.resources import builtin, cloud_lookups, contract, schema, translation
from isotherm.resources.context import local_access
from isotherm.resources.heat.test_resource import TestResource
from isotherm.template.parameters.constraints import CustomConstraint
from tests.engine.conftest import Lab, Tell

NETWORKS = {"blue": "net-1", "net-1": "net-1"}


@dataclass(frozen=True)
class FakeCloud:
    """A cloud with networks and flavors. It counts who asks."""

    credential: contract.Credential
    asked: list[tuple[str, str]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    request_ids: list[str] = field(default_factory=list)

    def of_stack(self, stack_id: str) -> FakeCloud:
        return FakeCloud(contract.Credential("stack", "p"), self.asked, self.failures, self.request_ids)

    async def call(self, service: str, call: local_access.Call) -> local_access.Reply:
        self.asked.append((self.credential.key, call.url))
        self.request_ids.append(call.headers.get(local_access.REQUEST_ID, ""))
        if self.failures:
            raise self.failures.pop()
        found = NETWORKS.get(call.url) if service == "network" else call.url if call.url == "m1" else None
        return local_access.Reply(404 if found is None else 200, body=(found or "").encode())

    async def endpoint(self, service: str) -> str:
        return f"http://{service}"

    async def project_id(self) -> str:
        return self.credential.project


async def find_network(cloud: contract.Cloud, value: str) -> str:
    reply = await cloud.call("network", local_access.Call("GET", value))
    if reply.status == 404:
        raise errors.NotFound(f"The network ({value}) could not be found.")
    return reply.body.decode()


async def is_flavor(cloud: contract.Cloud, value: str) -> str | None:
    reply = await cloud.call("compute", local_access.Call("GET", value))
    return None if reply.status == 200 else f"The Flavor ID ({value}) could not be found."


class Port(TestResource):
    TYPE = "Test::Port"
    properties_schema: ClassVar[dict[str, schema.Schema]] = {
        **TestResource.properties_schema,
        "network": schema.Schema(schema.STRING, "A name or an id."),
        "flavor": schema.Schema(schema.STRING, "A flavor.", constraints=(CustomConstraint(constraint="test.flavor"),)),
    }
    translation_rules = (translation.Rule(translation.Kind.RESOLVE, ("network",), finder=find_network),)
    given: ClassVar[list[Any]] = []

    async def handle_create(self) -> object:
        network = self.properties["network"]
        self.given.append(network)
        if network == "call":
            assert self.context.cloud is not None
            await self.context.cloud.call("network", local_access.Call("GET", "blue"))
        if network is not None and network not in NETWORKS.values():
            raise errors.Permanent(f"Network {network} could not be found. (HTTP 404) from the service network")
        return await super().handle_create()


@pytest.fixture(autouse=True)
def types(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Port.given.clear()
    builtin.registry().register(Port)
    monkeypatch.setitem(cloud_lookups.CONSTRAINTS, "test.flavor", is_flavor)
    yield
    del builtin.registry().types[Port.TYPE]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    """The cloud of every engine that is made in a test."""
    made = FakeCloud(contract.Credential("service", "admin"))
    lookups = cloud_lookups.Lookups()
    original = contexts.ProcessPorts.__init__

    def init(self: Any, *arguments: Any, **more: Any) -> None:
        original(self, *arguments, **{**more, "cloud": made, "lookups": lookups})

    monkeypatch.setattr(contexts.ProcessPorts, "__init__", init)
    caller = FakeCloud(contract.Credential("caller", "p"), made.asked, made.failures)
    original_ports = service_ports.ServicePorts.__init__

    def init_ports(self: Any, *arguments: Any, **more: Any) -> None:
        original_ports(self, *arguments, **{**more, "cloud_of": lambda requester: caller})

    monkeypatch.setattr(service_ports.ServicePorts, "__init__", init_ports)
    return made


def port(**properties: Any) -> dict[str, Any]:
    return {"type": Port.TYPE, "properties": properties}


def test_a_type_gets_the_id_of_a_name_and_an_update_to_that_id_changes_nothing(lab: Tell, cloud: FakeCloud) -> None:
    async def story(it: Lab) -> None:
        assert (await it.create({"r": port(network="blue")}))["status"] == "COMPLETE"
        assert Port.given == ["net-1"]
        assert cloud.asked == [("stack", "blue")], "with the stack's credential, and once"
        before = await it.physical()
        assert (await it.update({"r": port(network="net-1")}))["status"] == "COMPLETE"
        assert await it.physical() == before

    lab(story)


def test_a_name_that_does_not_exist_fails_its_resource(lab: Tell, cloud: FakeCloud) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": port(network="red")})
        assert stack["status"] == "FAILED"
        assert "The network (red) could not be found." in stack["stack_status_reason"]
        assert Port.given == []

    lab(story)


def test_the_id_of_a_network_that_was_made_again_is_not_used_twice(
    lab: Tell, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(it: Lab) -> None:
        monkeypatch.setitem(NETWORKS, "green", "network-1")
        assert (await it.create({"r": port(network="green")}))["status"] == "COMPLETE"
        # Somebody deletes the network and makes another one of the same name, within the time that answers are kept.
        monkeypatch.setitem(NETWORKS, "green", "network-2")
        both = {"r": port(network="green"), "other": port(network="green")}
        assert (await it.update(both))["status"] == "FAILED"
        assert (await it.update(both))["status"] == "COMPLETE"
        assert Port.given == ["network-1", "network-1", "network-2"]

    lab(story)


def test_services_are_told_the_id_of_the_operation(
    lab: Tell, cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(it: Lab) -> None:
        monkeypatch.setitem(NETWORKS, "call", "call")
        stack = await it.create({"r": port(network="call")})
        assert cloud.request_ids[-1] == f"req-{stack['operation_id']}"
        assert re.fullmatch(r"req-\w{8}(-\w{4}){3}-\w{12}", cloud.request_ids[-1]), "the form that services accept"

    lab(story)


def test_a_cloud_that_is_busy_is_asked_again(lab: Tell, cloud: FakeCloud) -> None:
    cloud.failures.append(errors.Temporary("busy", 0.01))

    async def story(it: Lab) -> None:
        assert (await it.create({"r": port(network="blue")}))["status"] == "COMPLETE"
        assert cloud.asked == [("stack", "blue")] * 2

    lab(story)


def test_a_constraint_is_asked_with_the_credential_of_the_caller_and_again_in_the_engine(
    lab: Tell, cloud: FakeCloud
) -> None:
    async def story(it: Lab) -> None:
        with pytest.raises(errors.UserError, match=r"The Flavor ID \(m9\) could not be found"):
            await it.create({"r": port(flavor="m9")})
        assert cloud.asked == [("caller", "m9")]
        cloud.asked.clear()
        assert (await it.create({"r": port(flavor="m1")}))["status"] == "COMPLETE"
        assert cloud.asked == [("caller", "m1"), ("stack", "m1")]
        cloud.asked.clear()
        assert (await it.update({"r": port(flavor="m1"), "b": port(flavor="m1")}))["status"] == "COMPLETE"
        assert cloud.asked == [], "the answers are kept"

    lab(story)


def test_without_a_cloud_a_name_cannot_be_resolved(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": port(network="blue")})
        assert "The stack is in no cloud yet" in stack["stack_status_reason"]

    lab(story)


def test_a_parameter_is_checked_when_it_is_accepted_and_outputs_of_its_stack_are_read(lab: Tell, cloud: FakeCloud) -> None:
    parameters = {"size": {"type": "string", "constraints": [{"custom_constraint": "test.flavor"}]}}
    resources = {"r": port(flavor={"get_param": "size"})}

    def given(size: str) -> dict[str, Any]:
        return {"parameters": parameters, "outputs": {"size": {"value": {"get_param": "size"}}},
                "environment": {"parameters": {"size": size}}}

    async def story(it: Lab) -> None:
        assert (await it.create(resources, **given("m1")))["status"] == "COMPLETE"
        [output] = await it.api.outputs.list("s")
        assert output["output_value"] == "m1"
        with pytest.raises(errors.UserError, match="The Flavor ID"):
            await it.update(resources, **given("m9"))

    lab(story)


def test_an_accepted_parameter_is_not_asked_for_again() -> None:
    """Another engine reads the input of a stack without a cloud: to plan it, and to show it."""
    template = {"heat_template_version": "2021-04-16", "resources": {"r": port(flavor={"get_param": "size"})},
                "parameters": {"size": {"type": "string", "constraints": [{"custom_constraint": "test.flavor"}]}}}
    accepted = desired.StackInput(json.dumps(template), {}, {"parameters": {"size": "m1"}})
    identity = desired.Identity("s", "id", "p")
    assert desired.bound(accepted, identity).values["size"] == "m1"
    assert desired.desire(accepted, identity, builtin.registry(), validate=False).bound.values["size"] == "m1"
