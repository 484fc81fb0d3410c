"""Creations that are repeated: after a failed object, and after a search that waits for requests in flight."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.resources import builtin, contract
from isotherm.resources.heat.test_resource import TestResource
from tests.engine.conftest import Lab, Tell


class Fragile(TestResource):
    """Its first objects come up broken; it deletes them and counts its attempts in its data."""

    TYPE = "Test::Fragile"
    broken: ClassVar[int] = 2
    forgets: ClassVar[bool] = False
    asked: ClassVar[list[str]] = []
    searched: ClassVar[list[str]] = []

    async def handle_create(self) -> object:
        self.asked.append(self.token)
        return await super().handle_create()

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        attempts = self.data.get("attempts", 0) + 1
        if attempts > self.broken:
            return await super().check_create_complete(progress)
        await self.context.reality.delete(self.physical_id or "")
        self.data["attempts"] = attempts
        if not self.forgets:
            self.physical_id = None
        raise contract.CreateAgain(f"no valid host (attempt {attempts})", 0.01)

    async def find_by_token(self) -> contract.Search:
        self.searched.append(self.token)
        return await super().find_by_token()


class InFlight(TestResource):
    """The answer to its first request is lost; its objects are searched for until the request is older than the limit."""

    TYPE = "Test::InFlight"
    ages: ClassVar[list[float]] = []
    limit_s: ClassVar[float] = math.inf

    async def handle_create(self) -> object:
        if not self.ages:
            raise errors.Temporary("gateway timeout", 0.01)
        return await super().handle_create()

    async def find_by_token(self) -> contract.Search:
        age = self.context.clock.now() - self.begun_at
        self.ages.append(age)
        if age < self.limit_s:
            raise errors.Temporary("making sure that nothing was left over", 0.01)
        return contract.Absent()


TYPES = (Fragile, InFlight)


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    for one in (Fragile.asked, Fragile.searched, InFlight.ages):
        one.clear()
    for type_ in TYPES:
        builtin.registry().register(type_)
    yield
    InFlight.limit_s = math.inf
    for type_ in TYPES:
        del builtin.registry().types[type_.TYPE]


def of(type_: type[contract.Resource], value: str = "x") -> dict[str, Any]:
    return {"type": type_.TYPE, "properties": {"value": value}}


async def waits_for(it: Lab, reason: str) -> bool:
    return [one["waits_for"] for one in await it.api.resources.list("s")] == [reason]


async def is_searched_for(it: Lab) -> None:
    """Wait until a search has found nothing and waits, then let the limit come within reach."""
    await it.until(lambda: waits_for(it, "making sure that nothing was left over"))
    InFlight.limit_s = InFlight.ages[-1] + 0.1


def test_a_failed_object_is_created_again_with_the_same_token(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": of(Fragile)})
        assert stack["status"] == "COMPLETE", stack
        assert len(Fragile.asked) == 3
        assert len(set(Fragile.asked)) == 1
        assert Fragile.searched == [], "it is known that nothing is there"
        assert it.values() == ["x"]
        assert (await it.delete())["status"] == "COMPLETE"
        assert it.objects() == {}

    lab(story)


def test_while_it_waits_its_reason_is_shown_and_a_delete_finds_nothing(
    lab: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def check(self: Fragile, progress: Any) -> bool | contract.Wait:
        await self.context.reality.delete(self.physical_id or "")
        self.physical_id = None
        raise contract.CreateAgain("no valid host", 3600.0)

    monkeypatch.setattr(Fragile, "check_create_complete", check)

    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"r": of(Fragile)}))
        await it.until(lambda: waits_for(it, "no valid host"))
        assert (await it.delete())["status"] == "COMPLETE"
        assert Fragile.searched == []
        assert it.objects() == {}

    lab(story)


def test_a_newer_template_is_what_is_created_again(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Fragile.check_create_complete

    async def check(self: Fragile, progress: Any) -> bool | contract.Wait:
        try:
            return await original(self, progress)
        except contract.CreateAgain as error:
            raise contract.CreateAgain(str(error), 3600.0) from error

    monkeypatch.setattr(Fragile, "check_create_complete", check)
    monkeypatch.setattr(Fragile, "broken", 1)

    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"r": of(Fragile, "x")}))
        await it.until(lambda: waits_for(it, "no valid host (attempt 1)"))
        stack = await it.update({"r": of(Fragile, "y")})
        assert stack["status"] == "COMPLETE", stack
        assert it.values() == ["y"]
        assert len(Fragile.asked) == 2
        assert len(set(Fragile.asked)) == 1, "the data of the first attempt is kept, so the second is not broken"

    lab(story)


def test_a_type_that_keeps_the_id_fails(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fragile, "forgets", True)

    async def story(it: Lab) -> None:
        stack = await it.create({"r": of(Fragile)})
        assert stack["status"] == "FAILED"
        assert "is to be created again, and was not given up: no valid host" in stack["stack_status_reason"]
        assert len(Fragile.asked) == 1

    lab(story)


def test_a_search_knows_when_the_creation_was_begun(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request({"r": of(InFlight)}))
        await is_searched_for(it)
        stack = await it.end(accepted)
        assert stack["status"] == "COMPLETE", stack
        assert InFlight.ages[0] < InFlight.limit_s <= InFlight.ages[-1]
        assert it.values() == ["x"]

    lab(story)


def test_a_delete_waits_for_the_request_in_flight_too(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        await it.api.stacks.create("s", it.request({"r": of(InFlight)}))
        await is_searched_for(it)
        assert (await it.delete())["status"] == "COMPLETE"
        assert InFlight.ages[0] < InFlight.limit_s <= InFlight.ages[-1]
        assert it.objects() == {}

    lab(story)


@pytest.mark.parametrize("goes_on", ["delete", "update"])
def test_a_creation_that_timed_out_is_searched_for_as_long_as_its_request_is_in_flight(lab: Tell, goes_on: str) -> None:
    async def story(it: Lab) -> None:
        accepted = await it.api.stacks.create("s", it.request({"r": of(InFlight)}, timeout_s=1.0))
        assert (await it.end(accepted))["status"] == "FAILED"
        InFlight.limit_s = InFlight.ages[-1] + 0.1
        stack = await (it.delete() if goes_on == "delete" else it.update({"r": of(InFlight, "y")}))
        assert stack["status"] == "COMPLETE", stack
        assert InFlight.limit_s <= InFlight.ages[-1] < 3600.0, "the time of the request is known"
        assert len(it.objects()) == (goes_on == "update")

    lab(story)
