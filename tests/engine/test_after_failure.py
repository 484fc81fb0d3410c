"""After a failure the object decides (the trait `failed_is_observed`): replaced, updated in place or created anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.resources import builtin, contract
from isotherm.resources.heat.test_resource import TestResource
from tests.engine.conftest import Lab, Tell


class Patient(TestResource):
    """Fails when the test says so, and shows what the test says."""

    TYPE = "Test::Patient"
    traits = dataclasses.replace(TestResource.traits, failed_is_observed=True)
    failing: ClassVar[str] = ""
    live: ClassVar[contract.LiveState] = contract.Seen({})
    calls: ClassVar[list[str]] = []
    replaced_unseen: ClassVar[bool] = True

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        if self.failing == "create":
            raise errors.Permanent("no valid host")
        return await super().check_create_complete(progress)

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        self.calls.append("update")
        if self.failing == "update":
            raise errors.Permanent("it is locked")
        return await super().handle_update(before, changed)

    async def handle_check(self) -> object:
        raise errors.Permanent("it is ill")

    async def handle_get_reality(self) -> contract.LiveState:
        self.calls.append("observed")
        return self.live

    def needs_replace_failed(self) -> bool:
        return self.replaced_unseen


class Careless(Patient):
    """The same without the trait."""

    TYPE = "Test::Careless"
    traits = TestResource.traits


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    Patient.calls.clear()
    for one in (Patient, Careless):
        builtin.registry().register(one)
    yield
    for one in (Patient, Careless):
        del builtin.registry().types[one.TYPE]


def of(value: str = "x", type_: type[contract.Resource] = Patient) -> dict[str, Any]:
    return {"r": {"type": type_.TYPE, "properties": {"value": value}}}


def says(monkeypatch: pytest.MonkeyPatch, **words: Any) -> None:
    for name, value in words.items():
        monkeypatch.setattr(Patient, name, value)


async def failed(it: Lab, monkeypatch: pytest.MonkeyPatch, action: str, type_: type[contract.Resource] = Patient) -> str:
    """Make the resource fail in this action; return the id of its object."""
    says(monkeypatch, failing=action)
    stack = await it.create(of(type_=type_))
    if action == "update":
        stack = await it.update(of("y", type_))
    assert stack["status"] == "FAILED", stack
    says(monkeypatch, failing="")
    Patient.calls.clear()
    return (await it.physical())["r"]


@pytest.mark.parametrize("action", ["create", "update"])
@pytest.mark.parametrize(("live", "replaced"), [
    (contract.Seen({"value": "x"}), False),
    (contract.Seen({"value": "x"}, broken="ERROR: no valid host"), True),
    (contract.Unseen("it does not answer"), True),
])
def test_the_object_decides(
    lab: Tell, monkeypatch: pytest.MonkeyPatch, action: str, live: contract.LiveState, replaced: bool
) -> None:
    async def story(it: Lab) -> None:
        old = await failed(it, monkeypatch, action)
        says(monkeypatch, live=live)
        stack = await it.update(of("z"))
        assert stack["status"] == "COMPLETE", stack
        assert ((await it.physical())["r"] != old) is replaced
        assert Patient.calls == (["observed"] if replaced else ["observed", "update"])
        assert it.values() == ["z"]

    lab(story)


def test_an_object_that_cannot_be_observed_is_updated_where_its_type_says_so(
    lab: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, replaced_unseen=False, live=contract.Unseen("it does not answer"))

    async def story(it: Lab) -> None:
        old = await failed(it, monkeypatch, "update")
        assert (await it.update(of("z")))["status"] == "COMPLETE"
        assert await it.physical() == {"r": old}
        assert it.values() == ["z"]

    lab(story)


def test_an_object_that_is_gone_is_created_anew(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    says(monkeypatch, replaced_unseen=False)

    async def story(it: Lab) -> None:
        old = await failed(it, monkeypatch, "update")
        await it.take_away(old)
        says(monkeypatch, live=contract.Gone())
        assert (await it.update(of("z")))["status"] == "COMPLETE"
        assert (await it.physical())["r"] != old
        assert it.values() == ["z"]

    lab(story)


def test_a_failed_check_replaces_without_an_observation(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await it.create(of())
        old = (await it.physical())["r"]
        assert (await it.end(await it.act("check")))["status"] == "FAILED"
        Patient.calls.clear()
        assert (await it.update(of()))["status"] == "COMPLETE"
        assert (await it.physical())["r"] != old
        assert Patient.calls == []

    lab(story)


def test_without_the_trait_nothing_is_observed(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        old = await failed(it, monkeypatch, "update", Careless)
        assert (await it.update(of("z", Careless)))["status"] == "COMPLETE"
        assert (await it.physical())["r"] != old
        assert Patient.calls == []

    lab(story)


def test_a_preview_says_that_it_is_not_certain(lab: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(it: Lab) -> None:
        await failed(it, monkeypatch, "update")
        [item] = (await it.api.preview.changes("s", it.request(of("z")))).items
        assert (item.action, item.certain) == ("replace", False)

    lab(story)
