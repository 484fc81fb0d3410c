"""Habits of a cloud on which the engine relies. The twin of the simulator and a real cloud pass the same tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from random import Random
from typing import Any, Protocol
from urllib.parse import urlsplit

import pytest

from isotherm import errors
from isotherm.clock import SystemClock
from isotherm.config import Settings
from isotherm.resources import contract
from isotherm.resources.openstack import faults, rest
from isotherm.resources.openstack.driver import TableResource
from isotherm.resources.openstack.neutron.net import Net
from isotherm.resources.openstack.port import clouds_yaml
from isotherm.resources.openstack.port.cloud import CloudPort, OpenStackCloud
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.chance import Chance
from isotherm.sim.world.cloud import Cloud
from isotherm.sim.world.faults import Faults
from isotherm.sim.world.loop import SimLoop
from isotherm.sim.world.twin import Twin
from isotherm.sim.world.twin_records import Record, Records
from tests import patience
from tests.clouds import CloudProject


class LoopClock:
    def now(self) -> float:
        return asyncio.get_running_loop().time()


class Subject(Protocol):
    """One kind of objects in a cloud. `type_` describes them, and can change the property `changes` in place."""

    type_: type[TableResource]
    changes: str

    @property
    def clock(self) -> contract.Clock: ...

    @property
    def cloud(self) -> contract.Cloud: ...

    async def send_and_die(self, body: dict[str, Any]) -> None:
        """Ask for an object, and be gone before the answer comes."""
        ...

    async def use(self, id_: str) -> Callable[[], Awaitable[None]]:
        """Have another object use one; return a function that deletes the other one."""
        ...


class TwinSubject:
    """Records of the simulator's twin."""

    type_: type[TableResource] = Record
    changes = "a"

    def __init__(self, loop: SimLoop) -> None:
        self.chance = Chance(1, {"request late": 1.0})
        self.chance.faultless = True
        world = Faults(loop, self.chance, lambda line: None)
        self.clock = LoopClock()
        self.cloud: Any = Twin({"records": Records(
            Cloud(loop.time, self.chance, world, lambda line: None), self.chance, world)})

    async def send_and_die(self, body: dict[str, Any]) -> None:
        self.chance.faultless = False
        with pytest.raises(errors.Temporary):
            await rest.Service(self.cloud, "records").post("/records", {"record": body})
        self.chance.faultless = True

    async def use(self, id_: str) -> Callable[[], Awaitable[None]]:
        service = rest.Service(self.cloud, "records")
        wanted = {"name": f"s-user-{uuid.uuid4().hex}", "description": f"isotherm-{uuid.uuid4()}", "uses": [id_]}
        made = await service.post("/records", {"record": wanted})
        return lambda: service.delete(f"/records/{made['record']['id']}")


class NetworkSubject:
    """Networks of a real Neutron."""

    type_: type[TableResource] = Net
    changes = "name"

    def __init__(self, project: CloudProject) -> None:
        access = clouds_yaml.read(project.cloud, project.environment)
        self.clock = SystemClock()
        self.cloud = OpenStackCloud(CloudPort(Settings(), self.clock), access)

    async def send_and_die(self, body: dict[str, Any]) -> None:
        url = urlsplit(f"{await self.cloud.endpoint('network')}/networks")
        token = await self.cloud.port.token(self.cloud.access)
        content = json.dumps({"network": body})
        _, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nX-Auth-Token: {token.id}\r\n"
                     f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode())
        await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def use(self, id_: str) -> Callable[[], Awaitable[None]]:
        service = rest.Service(self.cloud, "network")
        made = await service.post("/ports", {"port": {"network_id": id_}})
        return lambda: service.delete(f"/ports/{made['port']['id']}")


def resource(subject: Subject, token: str, physical_id: str | None = None, **given: Any) -> TableResource:
    context = contract.Context(clock=subject.clock, random=Random(1), reality=MemoryReality(), cloud=subject.cloud)
    properties = {name: one.default for name, one in subject.type_.properties_schema.items()} | given
    state = contract.ResourceState(name="a", stack_name="s", stack_id="1", token=token, properties=properties,
                                   physical_id=physical_id, begun_at=subject.clock.now())
    return subject.type_(state, context)


async def finished(check: Callable[[Any], Any], progress: Any = None) -> None:
    """Call a check as the engine does, until it says that the operation is complete."""
    last = [progress]

    async def done() -> bool:
        answer = await check(last[0])
        if isinstance(answer, contract.Wait) and answer.progress is not None:
            last[0] = answer.progress
        return answer is True

    await patience.becomes(done)


async def created(subject: Subject, **given: Any) -> TableResource:
    one = resource(subject, str(uuid.uuid4()), **given)
    await one.handle_create()
    await finished(one.check_create_complete)
    return one


async def deleted(one: TableResource) -> None:
    await finished(one.check_delete_complete, await one.handle_delete())


async def an_object_is_found_by_its_token_its_id_and_in_a_list(subject: Subject) -> None:
    one = await created(subject, **{subject.changes: "first"})
    assert await one.find_by_token() == contract.Found(str(one.physical_id))
    [in_list] = await one.service.pages(one.collection, one.table.plural, {"id": one.physical_id})
    shown = await one.show()
    assert shown is not None
    assert (in_list["id"], in_list[subject.changes]) == (shown["id"], shown[subject.changes]) == (one.physical_id, "first")
    assert await resource(subject, str(uuid.uuid4())).with_token() == []
    await deleted(one)


async def an_update_changes_nothing_but_what_it_names(subject: Subject) -> None:
    one = await created(subject, **{subject.changes: "first"})
    before = await one.show()
    after = resource(subject, one.token, one.physical_id, **{subject.changes: "second"})
    await finished(after.check_update_complete, await after.handle_update(one.properties, {subject.changes: "second"}))
    found = await one.show()
    assert before is not None
    assert found is not None
    # Services count changes, and tell when the last one was.
    own = {subject.changes, "updated_at", "revision_number"}
    assert {name: value for name, value in found.items() if name not in own} == {
        name: value for name, value in before.items() if name not in own}
    live = await one.handle_get_reality()
    assert isinstance(live, contract.Seen)
    assert live.properties[subject.changes] == "second"
    await deleted(one)


async def an_object_that_is_gone_is_gone_for_every_request(subject: Subject) -> None:
    one = await created(subject)
    await deleted(one)
    assert await one.handle_get_reality() == contract.Gone()
    assert await one.service.pages(one.collection, one.table.plural, {"id": one.physical_id}) == []
    assert await one.with_token() == []
    with pytest.raises(faults.NoSuchObject):
        await one.service.put(one.path, {one.table.key: {subject.changes: "late"}})
    with pytest.raises(faults.NoSuchObject):
        await one.service.delete(one.path)
    # A delete that is repeated succeeds.
    await deleted(one)


async def an_object_in_use_is_not_deleted_until_it_is_free(subject: Subject) -> None:
    one = await created(subject)
    release = await subject.use(str(one.physical_id))
    with pytest.raises(faults.InUse):
        await one.service.delete(one.path)
    progress = await one.handle_delete()
    answer = await one.check_delete_complete(progress)
    assert isinstance(answer, contract.Wait)
    assert "409" in answer.reason
    await release()
    await finished(one.check_delete_complete, answer.progress)
    assert await one.handle_get_reality() == contract.Gone()


async def a_request_is_carried_out_although_its_client_is_gone(subject: Subject) -> None:
    one = resource(subject, str(uuid.uuid4()))
    body = {"name": one.physical_name, **one.create_body()}
    await subject.send_and_die(body)

    async def appears() -> bool:
        try:
            found = await one.find_by_token()
        except errors.Temporary as error:
            # The rule for requests in flight: it does not count as absent yet.
            assert "making sure that nothing was left over" in str(error)
            return False
        assert isinstance(found, contract.Found)
        one.physical_id = found.physical_id
        return True

    await patience.becomes(appears)
    await finished(one.check_create_complete)
    await deleted(one)


Habit = Callable[[Subject], Coroutine[Any, Any, None]]
HABITS: Sequence[Habit] = (
    an_object_is_found_by_its_token_its_id_and_in_a_list, an_update_changes_nothing_but_what_it_names,
    an_object_that_is_gone_is_gone_for_every_request, an_object_in_use_is_not_deleted_until_it_is_free,
    a_request_is_carried_out_although_its_client_is_gone)


@pytest.mark.parametrize("habit", HABITS, ids=lambda one: str(one.__name__))
def test_the_twin_has_the_habit(habit: Habit) -> None:
    loop = SimLoop(Random(1), max_steps=10**7)
    try:
        loop.run_until(habit(TwinSubject(loop)))
    finally:
        loop.close()


@pytest.mark.short
def test_a_real_cloud_has_the_same_habits(cloud_project: CloudProject) -> None:
    for habit in HABITS:
        asyncio.run(_with(habit, NetworkSubject(cloud_project)))


async def _with(habit: Habit, subject: NetworkSubject) -> None:
    try:
        await habit(subject)
    finally:
        await subject.cloud.port.close()
