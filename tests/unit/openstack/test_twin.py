"""Table types against a service that carries a request out after its client has given up; and the number of their calls."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.context.local_access import Reply
from isotherm.resources.openstack import rest
from isotherm.resources.reality.journal import MemoryReality
from isotherm.sim.world.loop import SimLoop
from isotherm.sim.world.twin import Twin, TwinRequest, broken_connection, refusal, reply
from isotherm.sim.world.twin_records import Record


@dataclass
class Shelf:
    """A service of records in memory. `unheard` POSTs are carried out and not answered."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    unheard: int = 0
    asked: list[TwinRequest] = field(default_factory=list)

    async def answer(self, asked: TwinRequest) -> Reply:
        self.asked.append(asked)
        await asyncio.sleep(0.1)
        match asked.method, asked.path[1:]:
            case "POST", ():
                return self.create(asked.body["record"])
            case "GET", ():
                ids, texts = asked.values("id"), asked.values("description")
                found = [one for one in self.objects.values() if one["id"] in ids or one["description"] in texts]
                return reply(200, {"records": found})
            case "GET", (id_,) if id_ in self.objects:
                return reply(200, {"record": self.objects[id_]})
            case "DELETE", (id_,) if self.objects.pop(id_, None):
                return reply(204)
        return refusal(404, "no such record")

    def create(self, body: dict[str, Any]) -> Reply:
        number = len(self.objects)
        made = {**body, "id": f"r{number}", "status": "ACTIVE", "created_at": f"2026-01-01T00:00:{number:02}Z"}
        self.objects[made["id"]] = made
        if self.unheard:
            self.unheard -= 1
            raise broken_connection()
        return reply(201, {"record": made})


@dataclass
class RateLimited:
    """A shelf that takes so many requests in ten seconds, and answers 429 to the others, with the time that is left."""

    shelf: Shelf
    most: int
    taken: dict[int, int] = field(default_factory=dict)
    refused: int = 0

    async def answer(self, asked: TwinRequest) -> Reply:
        now = Clock().now()
        window = int(now // 10)
        if self.taken.get(window, 0) >= self.most:
            self.refused += 1
            return refusal(429, "too many requests", retry_after=str(math.ceil((window + 1) * 10 - now)))
        self.taken[window] = self.taken.get(window, 0) + 1
        return await self.shelf.answer(asked)


class Clock:
    def now(self) -> float:
        return asyncio.get_running_loop().time()


def record(shelf: Shelf, context: contract.Context | None = None, **more: Any) -> Record:
    context = context or contract.Context(clock=Clock(), random=Random(0), reality=MemoryReality(),
                                          cloud=Twin({"records": shelf}))
    state = contract.ResourceState(name="a", stack_name="s", stack_id="1", token="0123456789abcdef", properties={}, **more)
    return Record(state, context)


def run(work: Any) -> Any:
    loop = SimLoop(Random(1), max_steps=10**7)
    try:
        return loop.run_until(work)
    finally:
        loop.close()


def test_an_unanswered_creation_is_found_by_its_token() -> None:
    async def work() -> None:
        shelf = Shelf(unheard=1)
        one = record(shelf, begun_at=Clock().now())
        with pytest.raises(errors.Temporary):
            await one.handle_create()
        assert await one.find_by_token() == contract.Found("r0")

    run(work())


def test_a_creation_is_repeated_only_after_the_client_would_have_given_up() -> None:
    async def work() -> None:
        one = record(Shelf(), begun_at=Clock().now())
        began = Clock().now()
        while True:
            try:
                found = await one.find_by_token()
                break
            except errors.Temporary as error:
                assert "making sure that nothing was left over" in str(error)
                await asyncio.sleep(error.retry_after_s)
        assert found == contract.Absent()
        assert Clock().now() - began >= rest.TIMEOUT_S

    run(work())


def test_doubles_with_our_token_are_deleted_and_the_oldest_stays() -> None:
    async def work() -> None:
        shelf = Shelf()
        one = record(shelf)
        for _ in range(3):
            shelf.create(one.create_body())
        foreign = {**one.create_body(), "description": "isotherm-of another"}
        shelf.create(foreign)
        assert await one.find_by_token() == contract.Found("r0")
        one.physical_id = "r0"
        assert await one.check_create_complete(None) is True
        assert [*shelf.objects] == ["r0", "r3"]

    run(work())


def test_many_waiting_resources_are_read_by_lists() -> None:
    async def work() -> None:
        shelf = Shelf()
        shelf.objects = {f"r{number}": {"id": f"r{number}", "status": "BUILD", "description": ""} for number in range(100)}
        first = record(shelf)
        until = Clock().now() + 60

        async def wait(id_: str) -> None:
            one = record(shelf, first.context, physical_id=id_)
            while Clock().now() < until:
                assert isinstance(await one.check_create_complete({"finished": True}), contract.Wait)
                await asyncio.sleep(5.0)

        await asyncio.gather(*map(wait, shelf.objects))
        alone = [one for one in shelf.asked if one.path[1:]]
        # Without the hub there would be 100 objects / 5 s * 60 s = 1,200 requests.
        assert len(shelf.asked) <= 2 * 65 + 8
        assert len(alone) < len(shelf.asked)

    run(work())


def test_an_observer_reads_many_objects_by_one_list() -> None:
    async def work() -> None:
        shelf = Shelf()
        shelf.objects = {f"r{number}": {"id": f"r{number}", "status": "ACTIVE", "description": ""} for number in range(5)}
        context = record(shelf).context
        many = [contract.ResourceState(name="a", stack_name="s", stack_id="1", token="t", properties={}, physical_id=one)
                for one in (*shelf.objects, "gone")]
        seen = await Record.observe_many(context, many)
        assert [type(one) for one in seen] == [contract.Seen] * 5 + [contract.Gone]
        assert [one.path[1:] for one in shelf.asked] == [(), ("gone",)]

    run(work())


def test_creations_beyond_a_rate_limit_wait_as_long_as_the_service_says() -> None:
    async def work() -> None:
        shelf = Shelf()
        limited = RateLimited(shelf, most=4)
        cloud = Twin({"records": limited})
        context = contract.Context(clock=Clock(), random=Random(0), reality=MemoryReality(), cloud=cloud)

        async def create() -> str:
            while True:
                # Each try is a step of its own: nothing but the row is left of the last one.
                one = record(shelf, context, begun_at=Clock().now())
                try:
                    await one.handle_create()
                except errors.NotBegun as error:
                    # Nothing was created: the request is repeated without a search.
                    assert error.retry_after_s is not None
                    await asyncio.sleep(error.retry_after_s)
                    continue
                return str(one.physical_id)

        made = await asyncio.gather(*(create() for _ in range(10)))
        assert sorted(made) == sorted(shelf.objects), "each request was carried out once"
        # Of ten, six are refused in the first window, and two in the second; the last two are taken in the third.
        assert (limited.refused, [*limited.taken.values()]) == (8, [4, 4, 2])

    run(work())


def test_an_object_is_not_gone_because_a_rate_limit_hides_it() -> None:
    async def work() -> None:
        shelf = Shelf(objects={"r0": {"id": "r0", "status": "ACTIVE", "description": ""}})
        cloud = Twin({"records": RateLimited(shelf, most=0)})
        context = contract.Context(clock=Clock(), random=Random(0), reality=MemoryReality(), cloud=cloud)
        one = record(shelf, context, physical_id="r0")
        with pytest.raises(errors.Temporary, match="too many requests"):
            await one.check_create_complete({"finished": True})
        with pytest.raises(errors.NotBegun):
            await one.handle_delete()
        state = contract.ResourceState(name="a", stack_name="s", stack_id="1", token="t", properties={}, physical_id="r0")
        (seen,) = await Record.observe_many(context, [state])
        assert isinstance(seen, contract.Unseen)
        assert [*shelf.objects] == ["r0"]

    run(work())
