"""Load balancers with an error: nothing below them can be deleted but together with them."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.local_access import Call, Reply
from isotherm.resources.openstack.octavia.base import Immutable, OctaviaResource
from isotherm.resources.openstack.octavia.health_monitor import HealthMonitor
from isotherm.resources.openstack.octavia.listener import Listener
from isotherm.resources.openstack.octavia.load_balancer import LoadBalancer
from isotherm.resources.openstack.octavia.pool import Pool
from isotherm.resources.openstack.octavia.pool_member import PoolMember
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.twin import refusal, reply

TOKEN = "isotherm-0123456789abcdef0123456789abcdef"
IMMUTABLE = refusal(409, "Load Balancer lb is immutable and cannot be updated.")
BELOW = {
    "listeners/a": Listener, "pools/p": Pool, "pools/p/members/m": PoolMember, "healthmonitors/h": HealthMonitor}
PROPERTIES = {"loadbalancer": "lb", "listener": None, "pool": "p"}


class Clock:
    def now(self) -> float:
        return 1000.0


@dataclass
class Octavia:
    """One load balancer, which has a listener, a pool, a member and a monitor. It answers as Octavia does."""

    status: str = "ERROR"
    tags: list[str] = field(default_factory=lambda: [TOKEN])
    below: set[str] = field(default_factory=lambda: set(BELOW))
    deletes: list[str] = field(default_factory=list)
    credential: contract.Credential = field(default_factory=lambda: contract.Credential("one", "p"))

    def of_stack(self, stack_id: str) -> Octavia:
        return self

    async def call(self, service: str, call: Call) -> Reply:
        assert service == "load-balancer"
        path, _, query = call.url.strip("/").partition("?")
        if call.method == "DELETE":
            self.deletes.append(call.url)
            return self._deleted(path, query)
        if path == "loadbalancers/lb" and self.status != "DELETED":
            return reply(200, {"loadbalancer": self._shown()})
        if path == "loadbalancers":
            return reply(200, {"loadbalancers": [self._shown()] if self.status != "DELETED" else []})
        if path in self.below:
            return reply(200, {"pool": {"id": "p", "loadbalancers": [{"id": "lb"}]}})
        return refusal(404, "no such object")

    def _shown(self) -> dict[str, Any]:
        return {"id": "lb", "provisioning_status": self.status, "tags": self.tags}

    def _deleted(self, path: str, query: str) -> Reply:
        if path != "loadbalancers/lb":
            return IMMUTABLE if path in self.below else refusal(404, "no such object")
        if self.status.startswith("PENDING"):
            return IMMUTABLE
        if self.below and query != "cascade=true":
            return refusal(400, "Validation failure: Cannot delete Load Balancer lb - it has children")
        self.below.clear()
        self.status = "DELETED"
        return reply(204)


def resource(of: type[OctaviaResource], octavia: Octavia, id_: str) -> OctaviaResource:
    cloud: Any = octavia
    context = contract.Context(clock=Clock(), random=random.Random(1), reality=MemoryReality(), cloud=cloud)
    defaults = {name: one.default for name, one in of.properties_schema.items()}
    return of(contract.ResourceState(name="r", stack_name="s", stack_id="1", token="0", physical_id=id_,
                                     properties=defaults | PROPERTIES), context)


def delete(one: OctaviaResource) -> bool | contract.Wait:
    async def whole() -> bool | contract.Wait:
        return await one.check_delete_complete(await one.handle_delete())

    return asyncio.run(whole())


def below(octavia: Octavia) -> list[OctaviaResource]:
    return [resource(of, octavia, path.rpartition("/")[2]) for path, of in BELOW.items()]


def test_a_load_balancer_with_an_error_is_deleted_with_all_that_is_below_it() -> None:
    octavia = Octavia()
    assert all(delete(one) is True for one in below(octavia))
    assert octavia.below == set(BELOW)
    assert delete(resource(LoadBalancer, octavia, "lb")) is True
    assert (octavia.status, octavia.below) == ("DELETED", set())
    assert octavia.deletes[-2:] == ["/loadbalancers/lb", "/loadbalancers/lb?cascade=true"]


def test_a_load_balancer_that_works_is_not_deleted_with_what_others_have_put_below_it() -> None:
    octavia = Octavia(status="ACTIVE")
    with pytest.raises(errors.Permanent, match="it has children"):
        delete(resource(LoadBalancer, octavia, "lb"))
    assert octavia.below == set(BELOW)


def test_parts_of_a_load_balancer_that_is_being_changed_are_asked_for_again() -> None:
    octavia = Octavia(status="PENDING_UPDATE")
    for one in below(octavia):
        with pytest.raises(Immutable):
            delete(one)


def test_parts_of_a_load_balancer_that_no_stack_has_created_are_not_forgotten() -> None:
    octavia = Octavia(tags=["of-the-office"])
    for one in below(octavia):
        with pytest.raises(errors.Permanent, match="has the status ERROR"):
            delete(one)


def test_parts_of_a_load_balancer_that_is_gone_are_gone() -> None:
    octavia = Octavia(status="DELETED", below=set())
    assert all(delete(one) is True for one in below(octavia))
