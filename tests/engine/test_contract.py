"""The contract of resource types: its example works, and a creation whose answer was lost is never made twice."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.resources import builtin, contract, schema
from isotherm.resources.heat.test_resource import TestResource
from tests.engine.conftest import Lab, Tell, resource


class Lost(TestResource):
    """The answers to its first requests to create are lost."""

    asked: ClassVar[list[str]] = []
    losing: ClassVar[int] = 1
    busy: ClassVar[bool] = False
    answer: ClassVar[contract.Search] = contract.CannotTell()

    async def handle_create(self) -> object:
        self.asked.append(self.token)
        if len(self.asked) <= self.losing:
            await self._lose()
        return await super().handle_create()

    async def _lose(self) -> None:
        await super().handle_create()
        self.physical_id = None
        raise errors.Temporary("gateway timeout", 0.01)

    async def find_by_token(self) -> contract.Search:
        if self.busy:
            raise errors.Temporary("the service is busy", 0.01)
        return self.answer


class Blind(Lost):
    TYPE = "Test::Blind"


class Named(Lost):
    TYPE = "Test::Named"
    answer = contract.CannotTell("the lamp on the roof")


class Harmless(Lost):
    """Its service makes one object only for one token."""

    TYPE = "Test::Harmless"
    answer = contract.CannotTell(repeat_is_harmless=True)

    async def _lose(self) -> None:
        raise errors.Temporary("gateway timeout", 0.01)


class Keyed(Lost):
    """Its service answers a repeated request with the object that it made for the first, whatever the repeated one asks."""

    TYPE = "Test::Keyed"
    answer = contract.CannotTell(repeat_is_harmless=True)
    full: ClassVar[bool] = False
    made: ClassVar[dict[str, str | None]] = {}

    async def handle_create(self) -> object:
        self.asked.append(self.token)
        if self.token in self.made:
            if self.full:
                raise errors.NotBegun("too many requests", 0.01)
            self.physical_id = self.made[self.token]
            return None
        await TestResource.handle_create(self)
        self.made[self.token], self.physical_id = self.physical_id, None
        raise errors.Temporary("gateway timeout", 0.01)


class NotBegun(Lost):
    TYPE = "Test::NotBegun"
    losing = 3

    async def _lose(self) -> None:
        raise errors.NotBegun("too many requests", 0.01)


class OldStyle(Lost):
    """Answers as no type may any more."""

    TYPE = "Test::OldStyle"
    answer = None  # type: ignore[assignment]


class Watched(TestResource):
    """Says of its object what the test says."""

    TYPE = "Test::Watched"
    live: ClassVar[contract.LiveState] = contract.Seen({})

    async def handle_get_reality(self) -> contract.LiveState:
        return self.live


class Labelled(TestResource):
    """Notes the metadata that its methods see."""

    TYPE = "Test::Labelled"
    seen: ClassVar[list[Any]] = []

    async def handle_create(self) -> object:
        self.seen.append(self.metadata)
        return await super().handle_create()

    async def handle_update(self, before: Any, changed: Any) -> object:
        self.seen.append(self.metadata)
        return await super().handle_update(before, changed)


TYPES = (Watched, Blind, Named, Harmless, Keyed, NotBegun, OldStyle, Labelled)


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    Lost.asked.clear()
    Keyed.made.clear()
    for one in TYPES:
        builtin.registry().register(one)
    yield
    for one in TYPES:
        del builtin.registry().types[one.TYPE]


def of(type_: type[contract.Resource], value: str = "x") -> dict[str, Any]:
    return {"type": type_.TYPE, "properties": {"value": value}}


async def waits_for(it: Lab, reason: str) -> bool:
    return [one["waits_for"] for one in await it.api.resources.list("s")] == [reason]


def example() -> str:
    """The class in the text of the contract."""
    found = re.search(r"^    class .*?(?=^\S)", inspect.getdoc(contract) or "", re.MULTILINE | re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[0])


def test_the_example_of_the_contract_works(lab: Tell) -> None:
    names: dict[str, Any] = {"contract": contract, "schema": schema}
    exec(example(), names)
    lamp: type[contract.Resource] = names["Lamp"]
    builtin.registry().register(lamp)
    made: list[str] = []

    class Forgetful(lamp):  # type: ignore[valid-type,misc]
        """The answer to its first request is lost."""

        TYPE = "Example::Forgetful"

        async def handle_create(self) -> object:
            made.append(self.token)
            answer = await super().handle_create()
            self.physical_id = None
            raise errors.Temporary("gateway timeout", 0.01) if answer else errors.Bug("it answers how warm it is")

    builtin.registry().register(Forgetful)

    async def story(it: Lab) -> None:
        lamps = {"a": {"type": lamp.TYPE, "properties": {"colour": "red"}},
                 "b": {"type": Forgetful.TYPE, "properties": {"colour": "blue"}}}
        accepted = await it.api.stacks.create("s", it.request(lamps))

        async def warming() -> bool:
            return (await it.status("a"), len(it.objects())) == ("CREATE_IN_PROGRESS", 2)

        await it.until(warming)
        stack = await it.end(accepted)
        assert stack["status"] == "COMPLETE", stack
        assert sorted(one["colour"] for one in it.objects().values()) == ["blue", "red"]
        assert len(made) == 1, "it was found by its token"
        assert (await it.delete())["status"] == "COMPLETE"
        assert it.objects() == {}

    try:
        lab(story)
    finally:
        for type_ in (lamp, Forgetful):
            del builtin.registry().types[type_.TYPE]


@pytest.mark.parametrize(("type_", "says"), [(Blind, "Look for an object named s-r-"), (Named, "the lamp on the roof")])
def test_what_cannot_be_found_is_told_and_not_made_again(lab: Tell, type_: Any, says: Any) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": of(type_), "other": resource("y")})
        assert (stack["action"], stack["status"]) == ("CREATE", "FAILED")
        assert "CreationUnknown: resources.r: Whether it was made is not known" in stack["stack_status_reason"]
        assert says in stack["stack_status_reason"]
        assert await it.status("r") == "CREATE_FAILED"
        assert len(type_.asked) == 1
        [left] = [id_ for id_, one in it.objects().items() if one["value"] == "x"]
        if type_ is Blind:
            assert f"named {left} and" in stack["stack_status_reason"], "it can be looked for by what is told"
        # The user has looked, and asks again: for something new, with a token of its own.
        stack = await it.update({"r": of(type_), "other": resource("y")})
        assert stack["status"] == "COMPLETE", stack
        assert len(set(type_.asked)) == 2
        deleted = [one for one in await it.api.events.list("s", last=1000)
                   if (one["resource_name"], one["resource_status"]) == ("r", "DELETE_COMPLETE")]
        assert says in deleted[0]["resource_status_reason"]

    lab(story)


def test_a_delete_that_meets_it_first_fails_once(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        monkeypatch.setattr(Blind, "busy", True)
        await it.api.stacks.create("s", it.request({"r": of(Blind)}))
        await it.until(lambda: waits_for(it, "the service is busy"))
        accepted = await it.api.stacks.delete("s")
        monkeypatch.setattr(Blind, "busy", False)
        stack = await it.end(accepted)
        assert (stack["action"], stack["status"]) == ("DELETE", "FAILED")
        assert "Look for an object named s-r-" in stack["stack_status_reason"]
        assert (await it.delete())["status"] == "COMPLETE"
        assert len(Blind.asked) == 1

    lab(story)


def test_what_is_harmless_to_repeat_is_repeated(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": of(Harmless)})
        assert stack["status"] == "COMPLETE", stack
        assert len(Lost.asked) == 2
        assert len(set(Lost.asked)) == 1, "with the same token"

    lab(story)


def test_what_a_newer_template_wants_is_applied_after_the_repeated_request(
    lab: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(it: Lab) -> None:
        monkeypatch.setattr(Keyed, "busy", True)
        await it.api.stacks.create("s", it.request({"r": of(Keyed, "x")}))
        await it.until(lambda: waits_for(it, "the service is busy"))
        accepted = await it.api.stacks.update("s", it.request({"r": of(Keyed, "y")}))
        monkeypatch.setattr(Keyed, "busy", False)
        stack = await it.end(accepted)
        assert stack["status"] == "COMPLETE", stack
        assert len(set(Keyed.asked)) == 1
        assert [one["value"] for one in it.objects().values()] == ["y"]

    lab(story)


def test_a_repeated_request_that_was_not_begun_takes_back_nothing(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request made an object that no row knows: a delete reports it."""
    async def story(it: Lab) -> None:
        monkeypatch.setattr(Keyed, "full", True)
        await it.api.stacks.create("s", it.request({"r": of(Keyed)}))
        await it.until(lambda: waits_for(it, "too many requests"))
        stack = await it.delete()
        assert (stack["action"], stack["status"]) == ("DELETE", "FAILED")
        [left] = it.objects()
        assert f"Look for an object named {left} and" in stack["stack_status_reason"]

    lab(story)


def test_what_was_not_begun_is_begun_again_without_a_search(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": of(NotBegun)})
        assert stack["status"] == "COMPLETE", stack
        assert len(Lost.asked) == 4
        assert len(set(Lost.asked)) == 1

    lab(story)


def test_a_type_that_answers_neither_is_told_so(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        stack = await it.create({"r": of(OldStyle)})
        assert stack["status"] == "FAILED"
        assert "it has to answer Found, Absent or CannotTell" in stack["stack_status_reason"]
        assert len(Lost.asked) == 1

    lab(story)


@pytest.mark.parametrize(("live", "status", "reason"), [
    (contract.Seen({}), "CHECK_COMPLETE", ""),
    (contract.Gone(), "CHECK_FAILED", "does not exist"),
    (contract.Unseen("no permission"), "CHECK_COMPLETE", "The object could not be observed: no permission"),
])
def test_a_check_observes_the_object(
    lab: Tell, monkeypatch: pytest.MonkeyPatch, live: Any, status: Any, reason: Any
) -> None:
    async def story(it: Lab) -> None:
        await it.create({"r": of(Watched)})
        monkeypatch.setattr(Watched, "live", live)
        await it.end(await it.act("check"))
        assert await it.status("r") == status
        [shown] = await it.api.resources.list("s")
        assert reason in shown["resource_status_reason"]

    lab(story)


def test_an_update_sees_the_metadata_that_it_is_to_apply(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        Labelled.seen.clear()
        for label in ("one", "two"):
            labelled = {"a": {"type": Labelled.TYPE, "metadata": {"label": label}}}
            stack = await (it.create(labelled) if label == "one" else it.update(labelled))
            assert stack["status"] == "COMPLETE"
        assert Labelled.seen == [{"label": "one"}, {"label": "two"}]

    lab(story)
