"""The requests that a creation takes: no more than a person with a client of the service would send."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import builtin, cloud_lookups, contract, properties, registry
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack import faults, finders
from isotherm.resources.openstack.cinder.volume import Volume
from isotherm.resources.openstack.cinder.volume_attachment import VolumeAttachment
from isotherm.resources.openstack.neutron.net import Net
from isotherm.resources.openstack.neutron.port import Port
from isotherm.resources.openstack.neutron.security_group import SecurityGroup
from isotherm.resources.openstack.neutron.subnet import Subnet
from isotherm.resources.openstack.nova.server import Server
from isotherm.resources.reality.journal import MemoryReality
from isotherm.resources.validation import custom_constraints
from isotherm.sim.world.twin import Twin, TwinRequest, refusal, reply

SERVICES = ("network", "compute", "block-storage")


class Clock:
    def now(self) -> float:
        return 1000.0


@dataclass
class Site:
    """Services that give to each kind of requests the answer that is listed, and an empty one to others. They note them."""

    answers: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    async def answer(self, asked: TwinRequest) -> Reply:
        kind = f"{asked.method} /{'/'.join(asked.path)}"
        self.asked.append(kind)
        query = "".join(f"?{name}" for name, _ in asked.query)
        found = self.answers.get(kind + query, {})
        return refusal(found, "no") if isinstance(found, int) else reply(200, found)

    def made(self) -> list[str]:
        """Return the requests since the last call."""
        found, self.asked = self.asked, []
        return found


def resource(type_: Any, site: Site, **given: Any) -> Any:
    context = contract.Context(clock=Clock(), random=Random(1), reality=MemoryReality(),
                               cloud=Twin(dict.fromkeys(SERVICES, site)))
    wanted = {name: one.default for name, one in type_.properties_schema.items()} | given
    return type_(contract.ResourceState(name="a", stack_name="s", stack_id="1", token="t", properties=wanted), context)


async def first_step(one: contract.Resource) -> Any:
    """Create and check as the engine does in one step."""
    return await one.check_create_complete(await one.handle_create())


NET = {"network": {"id": "x", "status": "ACTIVE", "description": "isotherm-t", "mtu": 1450}}
VOLUME = {"id": "v", "status": "creating", "attachments": [], "metadata": {"isotherm": "isotherm-t"}, "size": 1}


@pytest.mark.parametrize(("type_", "key", "given", "attribute"), [
    (Net, "network", {}, "mtu"), (Subnet, "subnet", {"network": "n"}, "cidr"),
    (Port, "port", {"network": "n"}, "mac_address"), (SecurityGroup, "security_group", {}, "name")])
def test_an_object_that_one_request_makes_needs_no_other(
    type_: Any, key: str, given: dict[str, Any], attribute: str
) -> None:
    async def work() -> None:
        site = Site({f"POST {type_.table.path}": {key: {"id": "x", "status": "ACTIVE", attribute: "value"}}})
        one = resource(type_, site, **given)
        assert await first_step(one) is True
        assert await one.attribute(attribute) == "value"
        assert site.made() == [f"POST {type_.table.path}"]

    asyncio.run(work())


def test_an_object_that_further_requests_complete_is_read_afterwards() -> None:
    async def work() -> None:
        site = Site({"POST /networks": NET, "GET /networks/x": NET})
        assert await first_step(resource(Net, site, tags=["red"])) is True
        assert site.made() == ["POST /networks", "PUT /networks/x/tags", "GET /networks/x"]

    asyncio.run(work())


def test_an_object_of_neutron_is_gone_when_its_delete_is_answered() -> None:
    async def work() -> None:
        site = Site({})
        one = resource(Net, site)
        one.physical_id = "x"
        assert await one.check_delete_complete(await one.handle_delete()) is True
        assert site.made() == ["DELETE /networks/x"]

    asyncio.run(work())


def test_a_server_is_not_read_before_the_first_pause() -> None:
    async def work() -> None:
        site = Site({"POST /servers": {"server": {"id": "x"}}})
        waits = await first_step(resource(Server, site, image="i", flavor="f", networks=[{"port": "p"}]))
        assert (waits.seconds, waits.progress) == (None, {"finished": True})
        assert site.made() == ["POST /servers"]

    asyncio.run(work())


def test_a_volume_is_read_once_when_it_is_ready() -> None:
    async def work() -> None:
        site = Site({"POST /volumes": {"volume": VOLUME}, "GET /volumes/v": {"volume": {**VOLUME, "status": "available"}}})
        one = resource(Volume, site, size=1)
        waits = await first_step(one)
        assert site.made() == ["POST /volumes"]
        assert await one.check_create_complete(waits.progress) is True
        assert await one.attribute("size") == "1"
        assert site.made() == ["GET /volumes/v"]

    asyncio.run(work())


def test_an_attachment_that_is_being_made_costs_one_request_a_check() -> None:
    async def work() -> None:
        site = Site({"GET /volumes/v": {"volume": {**VOLUME, "status": "attaching"}}})
        one = resource(VolumeAttachment, site, instance_uuid="s", volume_id="v")
        waits = await first_step(one)
        assert site.made() == ["POST /servers/s/os-volume_attachments"]
        waits = await one.check_create_complete(waits.progress)
        site.answers["GET /volumes/v"] = {"volume": {**VOLUME, "status": "in-use", "attachments": [{"server_id": "s"}]}}
        assert await one.check_create_complete(waits.progress) is True
        assert site.made() == ["GET /volumes/v"] * 2

    asyncio.run(work())


def test_an_attachment_that_nova_has_given_up_is_a_failure() -> None:
    async def work() -> None:
        site = Site({"GET /volumes/v": {"volume": {**VOLUME, "status": "available"}},
                     "GET /servers/s/os-volume_attachments/v": 404})
        one = resource(VolumeAttachment, site, instance_uuid="s", volume_id="v")
        one.physical_id = "s:v"
        with pytest.raises(errors.Permanent, match="Nova gave up"):
            await one.check_create_complete({})

    asyncio.run(work())


def test_a_reference_to_an_object_that_was_just_made_is_not_looked_up() -> None:
    async def work() -> None:
        site = Site({"POST /networks": NET})
        one = resource(Net, site)
        await first_step(one)
        question = cloud_lookups.Question(finders.network, "x")
        answers = await one.context.lookups.answer(one.context.cloud, [question], Clock().now())
        assert answers == {question: cloud_lookups.Answer("x")}
        assert site.made() == ["POST /networks"]

    asyncio.run(work())


def test_a_name_and_its_constraint_are_one_question() -> None:
    builtin.registry()  # with the constraints
    question = cloud_lookups.Question(finders.network, "blue")
    known: dict[cloud_lookups.Question, cloud_lookups.Answer] = {}
    for open_ in ([question], []):
        book = cloud_lookups.LookupBook(custom_constraints.LOCAL, known)
        given = {"network": "blue", "cidr": "10.0.0.0/24"}
        typed = registry.typed_properties(Subnet, given, rules=properties.Rules(custom=book), id_of=book.id_of)
        assert [*book.open] == open_
        known[question] = cloud_lookups.Answer("id of blue")
    assert typed["network"] == "id of blue"


@pytest.mark.parametrize(("is_predecessor", "raised"), [(True, errors.NotBegun), (False, faults.InUse)])
def test_the_ports_of_the_replaced_server_are_taken_over_when_nova_refuses(
    is_predecessor: bool, raised: type[Exception]
) -> None:
    async def work() -> None:
        site = Site({"POST /servers": 409})
        one = resource(Server, site, image="i", flavor="f", networks=[{"port": "p"}])
        held = {"id": "p", "device_id": "old", "device_owner": "compute:nova"}
        site.answers["GET /ports?id"] = {"ports": [held]}
        one.data = {contract.REPLACED: "old" if is_predecessor else "another"}
        with pytest.raises(raised):
            await one.handle_create()
        assert ("DELETE /servers/old/os-interface/p" in site.made()) is is_predecessor

    asyncio.run(work())


def test_a_new_server_under_the_name_of_a_moved_one_takes_nothing_from_it() -> None:
    """The moved server has kept its object, and the new one has the same names of stack and resource."""
    async def work() -> None:
        site = Site({"POST /servers": 409})
        moved = resource(Server, site, image="i", flavor="f", tags=["own"])
        new = resource(Server, site, image="i", flavor="f", networks=[{"port": "p"}])
        new.token = "other"
        tags = moved.create_body()["tags"]
        assert (new.name, new.stack_id) == (moved.name, moved.stack_id)
        assert not set(tags) & set(new.create_body()["tags"])
        site.answers["GET /servers/detail?tags"] = {"servers": [{"id": "1", "tags": tags}]}
        assert await new.with_token() == []
        assert [one["id"] for one in await moved.with_token()] == ["1"]
        site.answers["GET /ports?id"] = {"ports": [{"id": "p", "device_id": "1", "device_owner": "compute:nova"}]}
        with pytest.raises(faults.InUse):
            await new.handle_create()
        assert not any(one.startswith("DELETE") for one in site.made())

    asyncio.run(work())


def test_the_tag_of_older_versions_is_no_drift() -> None:
    one = resource(Server, Site({}), image="i", flavor="f", tags=["own"])
    found = {"tags": ["own", one.token_text, "isotherm-of-8c1f0c1a-53f7-4c36-a0f5-08dd0a9dbd53"]}
    assert one.without_token(found)["tags"] == ["own"]
