"""The metadata of servers whose agents read an object of Swift: POLL_TEMP_URL."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context import software, transports
from isotherm.resources.heat.software.deployed_server import DeployedServer
from isotherm.resources.openstack.swift import agent_metadata
from isotherm.resources.reality.journal import MemoryReality
from tests.fake_swift import Swift

OWN = {"software_config_transport": transports.TEMP_URL}


class Clock:
    def now(self) -> float:
        return 1000.0


@dataclass
class Software:
    """The deployments to one server, and the resource that it is."""

    configs: list[software.Config] = field(default_factory=list)
    resource: software.SoftwareTarget | None = None

    def guarded(self, check: Any) -> Software:
        return self

    async def deployed(self, stack_id: str, server_id: str) -> Sequence[software.Config]:
        return list(self.configs)

    async def server(self, stack_id: str, server_id: str) -> software.SoftwareTarget | None:
        return self.resource


def context_of(swift: Swift | None, known: Software) -> contract.Context:
    cloud: Any = swift
    port: Any = known
    return contract.Context(clock=Clock(), random=random.Random(1), reality=MemoryReality(), cloud=cloud, software=port)


def server(context: contract.Context, data: dict[str, Any], token: str = "0123456789ab", **given: Any) -> DeployedServer:
    properties = {name: one.default for name, one in DeployedServer.properties_schema.items()}
    return DeployedServer(contract.ResourceState(
        name="web", stack_name="s", stack_id="1", token=token, properties=properties | OWN | given, data=data,
        metadata={"a": 1}), context)


def run(story: Callable[[Swift, Software], Awaitable[None]]) -> None:
    async def whole() -> None:
        await story(Swift(), Software())

    asyncio.run(whole())


def url_in(data: dict[str, Any]) -> str:
    return transports.object_url(data)


def test_the_agent_finds_metadata_and_deployments_at_its_url() -> None:
    async def story(swift: Swift, known: Software) -> None:
        context, data = context_of(swift, known), dict[str, Any]()
        one = server(context, data)
        await one.handle_create()
        agent = {"collectors": ["request", "local"], "request": {"metadata_url": url_in(data)}}
        assert (await one.attribute("os_collect_config")) == {"os-collect-config": agent}
        assert swift.at(url_in(data)) == {"a": 1, "os-collect-config": agent, "deployments": []}

        known.configs.append(software.Config("c1", "first", config="echo"))
        known.resource = software.SoftwareTarget("0123456789ab", data, {"a": 2})
        await agent_metadata.publish(context, "1", "server")
        found = swift.at(url_in(data))
        assert (found["a"], found["os-collect-config"]) == (2, agent)
        assert [(each["id"], each["config"]) for each in found["deployments"]] == [("c1", "echo")]

        await one.handle_delete()
        assert (swift.objects, swift.containers) == ({}, set())
        # A deployment that goes later finds nothing to write to.
        await agent_metadata.publish(context, "1", "server")
        assert swift.objects == {}

    run(story)


def test_of_changes_at_the_same_time_none_is_lost() -> None:
    async def story(swift: Swift, known: Software) -> None:
        context, data = context_of(swift, known), dict[str, Any]()
        await server(context, data).handle_create()
        known.resource = software.SoftwareTarget("0123456789ab", data, {})
        known.configs.append(software.Config("c1", "first"))
        swift.slow = asyncio.Event()
        writing = asyncio.create_task(agent_metadata.publish(context, "1", "server"))
        await asyncio.sleep(0)
        # The first one has read all, and its write takes long: meanwhile another one is put up, and an update begins.
        known.configs.append(software.Config("c2", "second"))
        known.resource = software.SoftwareTarget("0123456789ab", data, {"a": "new"})
        quick = replace(swift, slow=None)
        await agent_metadata.publish(context_of(quick, known), "1", "server")
        swift.slow.set()
        await writing
        found = swift.at(url_in(data))
        assert (found["a"], [one["id"] for one in found["deployments"]]) == ("new", ["c1", "c2"])

    run(story)


def test_an_agent_follows_to_another_place_and_to_another_transport() -> None:
    async def story(swift: Swift, known: Software) -> None:
        context, data = context_of(swift, known), dict[str, Any]()
        one = server(context, data)
        await one.handle_create()
        first = url_in(data)
        named = server(context, data, deployment_swift_data={"container": "box", "object": "web"})
        await named.handle_update(one.properties, {"deployment_swift_data": {}})
        second = url_in(data)
        assert "/v1/AUTH_p/box/web?" in second
        assert swift.at(first)["os-collect-config"]["request"]["metadata_url"] == second
        assert swift.at(second) == swift.at(first)

        moved = server(context, data, software_config_transport=transports.HEAT)
        await moved.handle_update(named.properties, {"software_config_transport": transports.HEAT})
        assert swift.at(second)["os-collect-config"]["request"] == {"metadata_url": None}
        # What is deployed from now on is not in the object.
        known.configs.append(software.Config("c1", "first"))
        known.resource = software.SoftwareTarget("0123456789ab", data, {})
        await agent_metadata.publish(context, "1", "server")
        assert swift.at(second)["deployments"] == []
        await moved.handle_delete()
        assert (swift.objects, swift.containers) == ({}, set())

    run(story)


def test_a_replaced_server_leaves_the_object_to_its_successor() -> None:
    async def story(swift: Swift, known: Software) -> None:
        context = context_of(swift, known)
        place = {"container": "box", "object": "web"}
        data: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        old = server(context, data[0], "old", deployment_swift_data=place)
        new = server(context, data[1], "new", deployment_swift_data=place)
        await old.handle_create()
        await new.handle_create()
        await old.handle_delete()
        assert swift.at(url_in(data[1]))["a"] == 1
        await new.handle_delete()
        assert (swift.objects, swift.containers) == ({}, set())

    run(story)


def test_without_a_cloud_it_is_refused() -> None:
    one = server(context_of(None, Software()), {})
    with pytest.raises(errors.Permanent, match="needs the object store of a cloud"):
        asyncio.run(one.handle_create())
