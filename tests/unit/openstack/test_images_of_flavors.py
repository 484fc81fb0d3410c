"""Servers whose image does not fit their flavor are refused before anything is made."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from isotherm import errors
from isotherm.planning import desired
from isotherm.resources import builtin, cloud_lookups, contract
from isotherm.resources.context.local_access import Call, Reply
from isotherm.resources.openstack import finders
from isotherm.resources.validation import custom_constraints
from isotherm.sim.world.twin import refusal, reply

SMALL = {"id": "1", "name": "small", "ram": 512, "disk": 1}
IMAGE = {"id": "9d1f0c1a-53f7-4c36-a0f5-08dd0a9dbd53", "name": "cirros", "status": "active", "min_ram": 512, "min_disk": 1}


@dataclass
class Cloud:
    """One image and one flavor."""

    image: dict[str, Any] = field(default_factory=lambda: dict(IMAGE))
    flavor: dict[str, Any] = field(default_factory=lambda: dict(SMALL))
    credential: contract.Credential = field(default_factory=lambda: contract.Credential("one", "p"))
    asked: list[str] = field(default_factory=list)

    async def call(self, service: str, call: Call) -> Reply:
        parts = urlsplit(call.url)
        self.asked.append(parts.path)
        match parts.path.strip("/").split("/"):
            case ["images"]:
                return reply(200, {"images": [self.image] if parts.query == f"name={self.image['name']}" else []})
            case ["images", id_] if id_ == self.image["id"]:
                return reply(200, self.image)
            case ["flavors", "detail"]:
                return reply(200, {"flavors": [self.flavor]})
        return refusal(404, "no such object")


def problem(cloud: Cloud, image: str = "cirros", flavor: str = "small") -> str | None:
    """Return the problem that acceptance finds with a server."""
    question = cloud_lookups.Question(finders.image_of_flavor, (image, flavor))
    answer = asyncio.run(cloud_lookups.Lookups().answer(cloud, [question], 0.0))[question]
    return str(answer.error) if answer.error else answer.value


@pytest.mark.parametrize(("image", "flavor", "says"), [
    ({}, {}, None), ({"min_ram": 0, "min_disk": 0}, {}, None), ({"min_disk": 9}, {"disk": 0}, None),
    ({"status": "queued"}, {}, "Image status is required to be active not queued."),
    ({"min_ram": 1024}, {}, "Image cirros requires 1024 minimum ram. Flavor small has only 512."),
    ({"min_disk": 2}, {}, "Image cirros requires 2 GB minimum disk space. Flavor small has only 1 GB."),
])
def test_an_image_has_to_fit_the_flavor(image: dict[str, Any], flavor: dict[str, Any], says: str | None) -> None:
    assert problem(Cloud(IMAGE | image, SMALL | flavor)) == says


def test_ids_are_as_good_as_names() -> None:
    assert "minimum ram" in str(problem(Cloud(IMAGE | {"min_ram": 1024}), str(IMAGE["id"]), "1"))


def test_the_lists_show_all_that_has_to_be_known() -> None:
    cloud = Cloud()
    assert problem(cloud) is None
    assert sorted(cloud.asked) == ["/flavors/detail", "/images"]


def test_of_an_image_that_is_missing_the_constraint_on_the_image_speaks() -> None:
    assert problem(Cloud(), "debian") is None
    assert problem(Cloud(), "cirros", "huge") is None


def test_the_constraint_does_not_fit_a_single_value() -> None:
    assert "together" in str(asyncio.run(finders.image_of_flavor(Cloud(), "cirros")))  # type: ignore[arg-type]


def accept(properties: dict[str, Any], answer: cloud_lookups.Answer | None = None) -> list[tuple[Any, Any]]:
    """Judge a stack with one server; return the questions about images of flavors that acceptance has to ask."""
    known = {} if answer is None else {cloud_lookups.Question(finders.image_of_flavor, ("cirros", "small")): answer}
    book = cloud_lookups.LookupBook(custom_constraints.LOCAL, known)
    template = {"heat_template_version": "2021-04-16", "resources": {
        "volume": {"type": "OS::Cinder::Volume", "properties": {"size": 1}},
        "server": {"type": "OS::Nova::Server", "properties": {"networks": [{"network": "n"}], **properties}}}}
    desired.desire(desired.StackInput(yaml.safe_dump(template), {}, {}), desired.Identity("s", "1", "p"),
                   builtin.registry(), custom=book)
    return [one.value for one in book.open if one.ask is finders.image_of_flavor]


def test_acceptance_asks_for_both_together() -> None:
    assert accept({"image": "cirros", "flavor": "small"}) == [("cirros", "small")]


@pytest.mark.parametrize("properties", [
    {"flavor": "small", "block_device_mapping_v2": [{"volume_id": {"get_resource": "volume"}}]},
    {"image": {"get_attr": ["volume", "status"]}, "flavor": "small"},
    {"image": {"get_resource": "volume"}, "flavor": "small"},
])
def test_what_is_not_known_yet_is_not_asked_for(properties: dict[str, Any]) -> None:
    assert accept(properties) == []


def test_a_server_that_nova_would_refuse_is_not_accepted() -> None:
    asked = {"image": "cirros", "flavor": "small"}
    with pytest.raises(errors.UserError, match="too little") as refused:
        accept(asked, cloud_lookups.Answer(error=errors.UserError("too little")))
    assert refused.value.problems[0].path == "resources.server"
    assert accept(asked, cloud_lookups.Answer()) == []
