"""Polls of many objects: one list answers for all that wait, and never for a change that was made after it began."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any

import pytest

from isotherm import errors
from isotherm.resources.context import polls as cloud_polls
from isotherm.sim.world.loop import SimLoop

ANSWER_S = 0.2


class Service:
    """Objects with a status, and the number of requests for them."""

    def __init__(self, ids_per_list: int | None = None) -> None:
        self.objects: dict[str, str] = {}
        self.alone: list[str] = []
        self.lists: list[list[str]] = []
        self.began: list[float] = []
        self.hub = cloud_polls.PollHub()
        self.collection = cloud_polls.ObjectList(("key",), self._list, ids_per_list)
        self.error: Exception | None = None
        self.hidden: set[str] = set()

    async def _list(self, ids: Sequence[str]) -> cloud_polls.Listing:
        self._count()
        self.lists.append(list(ids))
        shown = {one: {"status": status} for one, status in self.objects.items() if one not in self.hidden}
        await asyncio.sleep(ANSWER_S)
        if self.error is not None:
            raise self.error
        return cloud_polls.Listing(shown)

    async def show(self, one: str) -> Any:
        async def alone() -> Any:
            self._count()
            self.alone.append(one)
            found = self.objects.get(one)
            await asyncio.sleep(ANSWER_S)
            return None if found is None else {"status": found}

        return await self.hub.show(self.collection, one, alone)

    def _count(self) -> None:
        self.began.append(asyncio.get_running_loop().time())


def run(work: Callable[[Service], Coroutine[Any, Any, Any]], service: Service | None = None) -> Service:
    service = service or Service()
    loop = SimLoop(Random(1))
    try:
        loop.run_until(work(service))
    finally:
        loop.close()
    return service


def test_one_object_is_read_at_once_by_its_own_request() -> None:
    async def work(service: Service) -> None:
        service.objects["a"] = "BUILD"
        loop = asyncio.get_running_loop()
        for _ in range(30):
            began = loop.time()
            assert await service.show("a") == {"status": "BUILD"}
            assert loop.time() - began == pytest.approx(ANSWER_S)
            await asyncio.sleep(1.0)

    service = run(work)
    assert (len(service.alone), service.lists) == (30, [])


def test_a_thousand_waiting_objects_cost_two_requests_a_second() -> None:
    async def work(service: Service) -> None:
        random, until = Random(2), asyncio.get_running_loop().time() + 120

        async def waiting(one: str) -> None:
            await asyncio.sleep(random.uniform(0, 10))
            while asyncio.get_running_loop().time() < until:
                assert await service.show(one) == {"status": "BUILD"}
                await asyncio.sleep(10.0)

        service.objects = {f"s{number}": "BUILD" for number in range(1000)}
        await asyncio.gather(*map(waiting, service.objects))

    service = run(work)
    seconds = service.began[-1] - service.began[0]
    assert len(service.began) <= cloud_polls.CALLS_PER_S * seconds + cloud_polls.BURST
    # Each object was asked for every 10 seconds or so all the same.
    assert sum(map(len, service.lists)) + len(service.alone) > 1000 * 120 / 11


def test_a_list_answers_only_questions_that_were_asked_before_it_began() -> None:
    async def work(service: Service) -> None:
        service.objects = {f"s{number}": "BUILD" for number in range(20)}
        asked = [asyncio.ensure_future(service.show(one)) for one in service.objects]
        while not service.lists:
            await asyncio.sleep(0.01)
        # The list has been read and not answered yet: this change came after it.
        service.objects["s19"] = "ACTIVE"
        assert await service.show("s19") == {"status": "ACTIVE"}
        assert {one["status"] for one in await asyncio.gather(*asked)} == {"BUILD"}

    run(work)


def test_an_object_that_the_list_lacks_is_asked_for_by_itself() -> None:
    async def work(service: Service) -> None:
        service.objects = {f"s{number}": "BUILD" for number in range(20)}
        service.hidden = {"s19"}
        answers = await asyncio.gather(*map(service.show, [*service.objects, "gone"]))
        assert answers == [{"status": "BUILD"}] * 20 + [None]

    service = run(work)
    assert {"s19", "gone"} <= {*service.alone}


def test_a_list_takes_so_many_ids() -> None:
    async def work(service: Service) -> None:
        service.objects = {f"s{number}": "BUILD" for number in range(400)}
        assert await service.hub.show_many(service.collection, service.objects) == [{"status": "BUILD"}] * 400

    service = run(work, Service(ids_per_list=150))
    assert [*map(len, service.lists)] == [150, 150, 100]


def test_a_passing_error_of_the_list_is_the_answer_to_all_its_questions() -> None:
    async def work(service: Service) -> None:
        service.objects = {f"s{number}": "BUILD" for number in range(20)}
        service.error = errors.Temporary("busy")
        answers = await asyncio.gather(*map(service.show, service.objects), return_exceptions=True)
        assert sum(isinstance(one, errors.Temporary) for one in answers) == 20 - cloud_polls.BURST
        service.error = None
        assert await service.show("s1") == {"status": "BUILD"}

    run(work)


def test_a_collection_that_the_service_does_not_list_is_asked_for_one_by_one() -> None:
    async def work(service: Service) -> None:
        service.objects = {f"s{number}": "BUILD" for number in range(50)}
        service.error = errors.Permanent("forbidden")
        for _ in range(3):
            assert await asyncio.gather(*map(service.show, service.objects)) == [{"status": "BUILD"}] * 50

    service = run(work)
    assert (len(service.lists), len(service.alone)) == (1, 150)


def test_a_question_that_is_given_up_does_not_disturb_the_others() -> None:
    async def work(service: Service) -> None:
        service.objects = {f"s{number}": "BUILD" for number in range(20)}
        asked = [asyncio.ensure_future(service.show(one)) for one in service.objects]
        await asyncio.sleep(0.01)
        asked[15].cancel()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(answers[15], asyncio.CancelledError)
        assert [one for one in answers if one == {"status": "BUILD"}] == [{"status": "BUILD"}] * 19

    run(work)
