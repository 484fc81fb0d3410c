"""A port that replaces another one, and needs the addresses of that one; and the way back."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack import faults
from isotherm.resources.openstack.neutron.port import Port
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.twin import Twin, TwinRequest, refusal, reply

WANTED = "10.0.0.5"
OTHER = "10.0.0.6"


class Clock:
    def now(self) -> float:
        return 1000.0


class Neutron:
    """Ports of one subnet. An address belongs to one of them."""

    def __init__(self) -> None:
        self.ports: dict[str, dict[str, Any]] = {}

    async def answer(self, asked: TwinRequest) -> Reply:
        match asked.method, asked.path[1:]:
            case "POST", ():
                return self._put(f"p{len(self.ports)}", {"tags": [], "status": "DOWN"}, asked.body["port"], 201)
            case "GET", ():
                [(name, value)] = asked.query
                return reply(200, {"ports": [one for one in self.ports.values() if value in one[name]]})
            case "PUT", (id_, "tags"):
                self.ports[id_]["tags"] = asked.body["tags"]
                return reply(200, {"tags": []})
            case "PUT", (id_,):
                return self._put(id_, self.ports[id_], asked.body["port"], 200)
            case "GET", (id_,) if id_ in self.ports:
                return reply(200, {"port": self.ports[id_]})
        return refusal(404, "no such port")

    def _put(self, id_: str, before: dict[str, Any], changes: dict[str, Any], status: int) -> Reply:
        others = {address for other, one in self.ports.items() if other != id_ for address in addresses(one)}
        if taken := addresses(changes) & others:
            return refusal(409, f"IP address {taken} already allocated")
        self.ports[id_] = {**before, **changes, "id": id_}
        return reply(status, {"port": self.ports[id_]})


def addresses(port: dict[str, Any]) -> set[str]:
    return {one["ip_address"] for one in port.get("fixed_ips") or ()}


def port(neutron: Neutron, token: str, data: dict[str, Any] | None = None, **more: Any) -> Port:
    context = contract.Context(clock=Clock(), random=random.Random(1), reality=MemoryReality(),
                               cloud=Twin({"network": neutron}))
    properties = {name: one.default for name, one in Port.properties_schema.items()}
    properties |= {"network": "n", "tags": ["mine"], "fixed_ips": [{"ip_address": WANTED}, {"ip_address": OTHER}]}
    state = contract.ResourceState(name="a", stack_name="s", stack_id="1", token=token, properties=properties,
                                   data={} if data is None else data, **more)
    return Port(state, context)


async def created(one: Port) -> None:
    await one.handle_create()
    answer: Any = {}
    while answer is not True:
        answer = await one.check_create_complete(answer.progress if isinstance(answer, contract.Wait) else None)


def test_the_addresses_of_the_replaced_port_are_taken_over_and_given_back() -> None:
    async def work() -> None:
        neutron = Neutron()
        old = port(neutron, "old")
        await created(old)
        data: dict[str, Any] = {contract.REPLACED: old.physical_id}
        # First it is stored that the addresses are taken, and nothing is changed.
        with pytest.raises(errors.NotBegun):
            await port(neutron, "new", data).handle_create()
        assert addresses(neutron.ports["p0"]) == {WANTED, OTHER}
        new = port(neutron, "new", data)
        await created(new)
        assert (addresses(neutron.ports["p0"]), addresses(neutron.ports["p1"])) == (set(), {WANTED, OTHER})
        # What says so is not shown to users.
        assert new.live(neutron.ports["p1"])["tags"] == ["mine"]
        assert (await new.attribute("show"))["tags"] == ["mine"]  # type: ignore[index]

        # The rollback observes the old port, and repairs it.
        again = port(neutron, "old", physical_id="p0")
        assert again.live(neutron.ports["p0"])["fixed_ips"] == []
        await again.handle_update(again.properties, {"fixed_ips": again.properties["fixed_ips"]})
        assert (addresses(neutron.ports["p0"]), addresses(neutron.ports["p1"])) == ({WANTED, OTHER}, set())

    asyncio.run(work())


def test_after_a_crash_the_new_port_still_has_the_mark() -> None:
    async def work() -> None:
        neutron = Neutron()
        await created(port(neutron, "old"))
        data = {contract.REPLACED: "p0"}
        with pytest.raises(errors.NotBegun):
            await port(neutron, "new", data).handle_create()
        # The engine died after the old port was emptied, and before the new one was asked for.
        neutron.ports["p0"]["fixed_ips"] = []
        new = port(neutron, "new", data)
        await created(new)
        assert neutron.ports["p1"]["tags"] == ["mine", "isotherm-from-p0"]

    asyncio.run(work())


def test_addresses_of_other_ports_are_left_alone() -> None:
    async def work() -> None:
        neutron = Neutron()
        await created(port(neutron, "foreign"))
        neutron.ports["p1"] = {"id": "p1", "tags": [], "description": "", "status": "DOWN", "fixed_ips": []}
        for data in ({}, {contract.REPLACED: "p1"}, {contract.REPLACED: "gone"}):
            with pytest.raises(faults.InUse):
                await port(neutron, "new", data).handle_create()
        one = port(neutron, "other", physical_id="p1")
        with pytest.raises(faults.InUse):
            await one.handle_update(one.properties, {"fixed_ips": one.properties["fixed_ips"]})
        assert addresses(neutron.ports["p0"]) == {WANTED, OTHER}

    asyncio.run(work())
