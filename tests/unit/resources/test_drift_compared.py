"""Drift: what counts as a change behind our back, and what does not; and what a look at an object can say."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isotherm import errors
from isotherm.resources import contract, registry
from isotherm.resources.heat import dummy, test_resource, value
from isotherm.resources.reality import drift
from isotherm.resources.reality.journal import MemoryReality
from isotherm.resources.schema import ANY, BOOLEAN, INTEGER, LIST, MAP, NUMBER, STRING, Schema


class Clock:
    def now(self) -> float:
        return 1000.0


class Lamp(contract.Resource):
    TYPE = "Test::Lamp"
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "colour": Schema(STRING, update_allowed=True, normalise=str.lower),
        "watts": Schema(NUMBER, default=40, update_allowed=True),
        "tags": Schema(LIST, schema=Schema(STRING), update_allowed=True, normalise=sorted),
        "order": Schema(LIST, schema=Schema(INTEGER), update_allowed=True),
        "image": Schema(STRING),
        "patience": Schema(INTEGER, default=3, observable=False),
        "address": Schema(STRING, managed=True),
        "password": Schema(STRING, write_only=True),
        "lit": Schema(BOOLEAN),
        "free": Schema(ANY),
        "parts": Schema(MAP, schema={
            "shade": Schema(STRING, normalise=str.lower), "serial": Schema(STRING, managed=True), "size": Schema(INTEGER)}),
        "labels": Schema(MAP, schema=Schema(STRING)),
    }


class Shy(Lamp):
    """Raises what it is told to, when it is looked at."""

    async def handle_get_reality(self) -> contract.LiveState:
        raise self.data["raises"]


class Slow(Lamp):
    def handle_get_reality(self) -> contract.LiveState:  # type: ignore[override]  # plain: it runs on a thread
        return contract.Seen({"colour": self.physical_id})


def typed(**given: Any) -> dict[str, Any]:
    return registry.typed_properties(Lamp, given)


def drifted(applied: Mapping[str, Any], live: Mapping[str, Any], **aliases: Any) -> list[str]:
    return [one.property for one in drift.compare(Lamp, typed(**applied), contract.Seen(live, aliases))]


def context(reality: Any = None) -> contract.Context:
    return contract.Context(clock=Clock(), random=random.Random(1), reality=reality or MemoryReality())


def state(properties: Mapping[str, Any] = {}, physical_id: str | None = "x", **data: Any) -> contract.ResourceState:
    return contract.ResourceState(name="r", stack_name="s", stack_id="id", token="token", properties=properties,
                                  physical_id=physical_id, data=data)


@pytest.mark.parametrize(("applied", "live"), [
    ({"colour": "red"}, {"colour": "blue"}),
    ({"colour": "red"}, {"colour": None}),
    ({}, {"watts": 60}),  # the default was applied
    ({"watts": 40}, {"watts": "bright"}),
    ({"order": [1, 2]}, {"order": [2, 1]}),
    ({"order": [1, 2]}, {"order": [1]}),
    ({"tags": ["a"]}, {"tags": ["a", "b"]}),
    ({"lit": True}, {"lit": False}),
    ({"free": {"a": 1}}, {"free": {"a": 2}}),
    ({"parts": {"shade": "wide"}}, {"parts": {"shade": "narrow"}}),
    ({"labels": {"a": "1"}}, {"labels": {"a": "1", "b": "2"}}),
])
def test_a_live_value_that_is_not_what_was_applied_has_drifted(applied: Any, live: Any) -> None:
    assert drifted(applied, live) == list(live)


@pytest.mark.parametrize(("applied", "live"), [
    ({"colour": "red"}, {"colour": "RED"}),  # case
    ({"watts": 40}, {"watts": "40.0"}),  # a number, however it is written
    ({"tags": ["b", "a"]}, {"tags": ["a", "b"]}),  # order
    ({"order": [1, 2]}, {"order": ["1", "2"]}),
    ({"lit": True}, {"lit": "true"}),
    ({}, {"colour": "green"}),  # the template never said
    ({"colour": "red"}, {}),  # it was not observed
    ({}, {"patience": 9}),  # it cannot be seen
    ({"address": "10.0.0.1"}, {"address": "10.0.0.9"}),  # the service's own business
    ({"password": "a"}, {"password": "b"}),
    ({"parts": {"shade": "wide", "serial": "1"}}, {"parts": {"shade": "WIDE", "serial": "2", "size": 3}}),
    ({"colour": "red"}, {"no such property": 1}),
])
def test_what_means_the_same_or_was_never_said_is_no_drift(applied: Any, live: Any) -> None:
    assert drifted(applied, live) == []


def test_a_name_that_stands_for_the_live_id_is_no_drift() -> None:
    assert drifted({"image": "cirros"}, {"image": "4d2e"}, image=["cirros"]) == []
    assert drifted({"image": "debian"}, {"image": "4d2e"}, image=["cirros"]) == ["image"]


def test_all_three_sides_are_told_in_the_order_of_the_schema() -> None:
    seen = contract.Seen({"watts": 60, "colour": "blue"})
    found = drift.compare(Lamp, typed(colour="red", watts=40), seen, typed(colour="Blue", watts=25))
    assert found == [drift.Drift("colour", "red", "blue", "Blue", True), drift.Drift("watts", 40, 60, 25, False)]


def test_a_change_to_come_is_no_drift_but_is_to_be_made() -> None:
    seen, applied, wanted = contract.Seen({"colour": "red"}), typed(colour="red"), typed(colour="blue")
    assert drift.compare(Lamp, applied, seen, wanted) == []
    assert drift.to_change(Lamp, applied, seen, wanted) == {"colour": "blue"}


def test_only_what_differs_from_reality_is_changed() -> None:
    seen = contract.Seen({"colour": "blue", "watts": 60, "address": "10.0.0.9"})
    applied = typed(colour="red", watts=40, image="a", password="old", address="10.0.0.1")
    wanted = typed(colour="BLUE", watts=40, image="b", password="new", address="10.0.0.1")
    # The colour is as wanted already; watts was applied and is so no more; image and password cannot be asked for.
    assert drift.to_change(Lamp, applied, seen, wanted) == {"image": "b", "password": "new", "watts": 40}
    assert drift.to_change(Lamp, applied, contract.Seen({}), applied) == {}


def test_what_the_template_says_no_more_is_a_change_by_what_was_applied() -> None:
    assert drift.to_change(Lamp, typed(colour="red"), contract.Seen({"colour": "red"}), typed()) == {"colour": None}


_LIVE = st.dictionaries(st.sampled_from(sorted(Lamp.properties_schema)), st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.lists(st.text(max_size=2), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2)))


@settings(deadline=None)
@given(_LIVE)
def test_whatever_is_live_can_be_compared(live: Any) -> None:
    applied = typed(colour="red", tags=["a"], order=[1], lit=True, parts={"size": 1}, labels={"a": "b"}, free={"x": [1]})
    found = {one.property for one in drift.compare(Lamp, applied, contract.Seen(live))}
    assert found <= live.keys()
    assert found == drift.to_change(Lamp, applied, contract.Seen(live), applied).keys()


# Looking.


@pytest.mark.ledger("S1.1")
def test_a_type_that_cannot_be_observed_says_so() -> None:
    assert not contract.is_observable(value.Value)
    seen = asyncio.run(contract.observe(value.Value(state(), context())))
    assert seen == contract.Unseen("OS::Heat::Value cannot be observed")


@pytest.mark.parametrize(("raises", "seen"), [
    (errors.Temporary("busy", 7.0), contract.Unseen("busy", 7.0)),
    (OSError("no route"), contract.Unseen("OSError: no route")),
])
def test_unknown_is_not_gone(raises: Any, seen: Any) -> None:
    assert asyncio.run(contract.observe(Shy(state(raises=raises), context()))) == seen


def test_what_is_superseded_stops_looking() -> None:
    with pytest.raises(errors.Superseded):
        asyncio.run(contract.observe(Shy(state(raises=errors.Superseded("newer")), context())))


def test_what_was_never_made_is_not_gone() -> None:
    assert isinstance(asyncio.run(contract.observe(Shy(state(physical_id=None), context()))), contract.Unseen)


def test_many_are_looked_at_in_their_order() -> None:
    many = [state(physical_id=one) for one in ("red", None, "blue")]
    first, second, third = asyncio.run(Slow.observe_many(context(), many))
    assert (first, third) == (contract.Seen({"colour": "red"}), contract.Seen({"colour": "blue"}))
    assert isinstance(second, contract.Unseen)


@pytest.mark.ledger("S1.1")
@pytest.mark.parametrize(("type_", "given", "other"), [
    (dummy.Dummy, {"update_in_place_prop": "a"}, {"update_in_place_prop": "b", "name_len": 10}),
    (test_resource.TestResource, {"value": "a"}, {"value": "b"}),
])
def test_types_without_a_cloud_have_a_reality(type_: Any, given: Any, other: Any) -> None:
    async def story() -> None:
        here = context()
        applied = registry.typed_properties(type_, given)
        one = type_(state(applied, None), here)
        await one.handle_create()
        seen = await contract.observe(one)
        assert isinstance(seen, contract.Seen)
        assert drift.compare(type_, applied, seen) == []
        await here.reality.update(one.physical_id, other)
        known = state(applied, one.physical_id)
        [seen] = await type_.observe_many(here, [known])
        assert [(one.applied, one.live) for one in drift.compare(type_, applied, seen)] == [("a", "b")]
        await here.reality.delete(one.physical_id)
        assert await type_.observe_many(here, [known]) == [contract.Gone()] == [await contract.observe(one)]

    asyncio.run(story())
