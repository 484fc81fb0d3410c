"""Deployments that users create through the API, to a server whose agent reads an object of Swift."""

from __future__ import annotations

from typing import Any

import pytest

from isotherm import errors
from isotherm.engine.process import cloud_access
from isotherm.resources.context.software import Config, Deployment
from tests.engine.conftest import Lab, Tell
from tests.fake_swift import Swift

SERVER = {"server": {"type": "OS::Heat::DeployedServer", "properties": {
    "software_config_transport": "POLL_TEMP_URL", "deployment_swift_data": {"container": "box", "object": "web"}}}}


@pytest.fixture
def swift(monkeypatch: pytest.MonkeyPatch) -> Swift:
    """Return the only service of the cloud that all stacks are in."""
    made = Swift()
    monkeypatch.setattr(cloud_access, "StackCloud", lambda *_: made)
    return made


def deployed(swift: Swift) -> list[Any]:
    """Return the texts of the configs that the agent finds."""
    return [one["config"] for one in swift.objects["box/web"][1]["deployments"]]


def deployment(server: str, config: str) -> Deployment:
    return Deployment("", server, config, None, None, "None")


async def configs(it: Lab, *texts: str) -> list[str]:
    return [(await it.api.software.create_config(Config("", None, config=text)))["id"] for text in texts]


def test_the_agent_learns_of_each_change(lab: Tell, swift: Swift) -> None:
    async def story(it: Lab) -> None:
        await it.create(SERVER)
        server, software = (await it.physical())["server"], it.api.software
        first, second = await configs(it, "first", "second")
        assert deployed(swift) == []
        made = await software.create_deployment(deployment(server, first))
        assert deployed(swift) == ["first"]
        await software.update_deployment(made["id"], {"config_id": second})
        assert deployed(swift) == ["second"]
        await software.delete_deployment(made["id"])
        assert deployed(swift) == []
        assert swift.objects["box/web"][1]["os-collect-config"]["request"]["metadata_url"]

    lab(story)


def test_a_deployment_that_the_agent_cannot_learn_of_is_not_kept(lab: Tell, swift: Swift) -> None:
    async def story(it: Lab) -> None:
        await it.create(SERVER)
        server, software = (await it.physical())["server"], it.api.software
        (config,) = await configs(it, "first")
        swift.refuses = True
        with pytest.raises(errors.Unavailable, match=f"The agent of the server {server} cannot be told"):
            await software.create_deployment(deployment(server, config))
        assert await software.deployments() == []
        swift.refuses = False
        await software.create_deployment(deployment(server, config))
        assert deployed(swift) == ["first"]

    lab(story)


def test_of_a_server_outside_of_stacks_nothing_is_written(lab: Tell, swift: Swift) -> None:
    async def story(it: Lab) -> None:
        (config,) = await configs(it, "first")
        swift.refuses = True
        made = await it.api.software.create_deployment(deployment("elsewhere", config))
        await it.api.software.delete_deployment(made["id"])
        assert swift.objects == {}

    lab(story)
