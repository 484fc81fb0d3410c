"""The pure parts of the observer: policies, intervals and the rate limit."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, ClassVar

import pytest

from isotherm import errors
from isotherm.config import Settings
from isotherm.observer import policies
from isotherm.observer.observe import RealityReader, StackRef
from isotherm.observer.rate_limit import RateLimit
from isotherm.resources import contract
from isotherm.resources.reality.journal import MemoryReality
from isotherm.states import DriftPolicy, ObservationResult
from isotherm.store.watch.resources import WatchedResource

pytestmark = pytest.mark.ledger("S1.5")
REPAIR = '{"isotherm": {"drift": "repair"}}'


@pytest.mark.parametrize(("metadata", "overrides", "expected"), [
    ("{}", {}, DriftPolicy.REPORT),
    (REPAIR, {}, DriftPolicy.REPAIR),
    (REPAIR, {"r": int(DriftPolicy.IGNORE)}, DriftPolicy.IGNORE),
    (REPAIR, {"another": int(DriftPolicy.IGNORE)}, DriftPolicy.REPAIR),
    ('{"isotherm": {"drift": "mend"}}', {}, DriftPolicy.REPORT),
    ('{"isotherm": "repair"}', {}, DriftPolicy.REPORT),
    ('["isotherm"]', {}, DriftPolicy.REPORT),
    ("null", {}, DriftPolicy.REPORT),
])
def test_the_nearest_word_counts(metadata: Any, overrides: Any, expected: Any) -> None:
    assert policies.of("r", metadata, overrides, DriftPolicy.REPORT) is expected


def test_intervals_of_types_and_stacks() -> None:
    found = policies.Intervals(Settings(observer_interval=60, observer_type_intervals=("OS::*=30", "OS::Nova::Server=300")))
    assert found.of("Other::Type", None) == 60
    assert found.of("OS::Neutron::Net", None) == 30
    assert found.of("OS::Nova::Server", None) == 300
    assert found.of("OS::Nova::Server", 5.0) == 5
    assert (found.round(None), found.round(5.0)) == (30, 5)


def test_an_interval_that_is_none_is_refused() -> None:
    with pytest.raises(errors.UserError, match="is not TYPE=SECONDS"):
        policies.Intervals(Settings(observer_type_intervals=("OS::Nova::Server=often",)))


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


def spent(budget: RateLimit, clock: Clock, *keys: tuple[str, str]) -> float:
    async def all_of_them() -> None:
        for project, type_ in keys:
            await budget.take(project, type_)

    began = clock.at
    asyncio.run(all_of_them())
    return clock.at - began


def test_calls_are_spread_over_time() -> None:
    clock = Clock()
    assert spent(RateLimit(10, clock.now, clock.sleep), clock, *[("p", "T")] * 101) == pytest.approx(9.9)


def test_projects_and_types_do_not_wait_for_each_other() -> None:
    clock = Clock()
    budget = RateLimit(10, clock.now, clock.sleep)
    assert spent(budget, clock, ("p", "T"), ("q", "T"), ("p", "U")) == 0


def test_observers_share_it() -> None:
    clock = Clock()
    budget = RateLimit(10, clock.now, clock.sleep)
    budget.share(4)
    assert spent(budget, clock, *[("p", "T")] * 26) == pytest.approx(9.9)


def test_without_a_budget_no_call_waits() -> None:
    clock = Clock()
    assert spent(RateLimit(0, clock.now, clock.sleep), clock, *[("p", "T")] * 1000) == 0


class Hangs(contract.Resource):
    TYPE = "Test::Hangs"

    async def handle_get_reality(self) -> contract.LiveState:
        if self.name != "well":
            await asyncio.Event().wait()
        return contract.Seen({})


class Raises(Hangs):
    TYPE = "Test::Raises"

    @classmethod
    async def observe_many(cls, context: Any, many: Any) -> Any:
        raise OSError("the cloud is on fire")


def target(name: str, type_: str) -> WatchedResource:
    return WatchedResource(1, "stack", name, type_, type_, "token", "id", "{}", "{}", "{}", "[]", False, "d", None, None,
                           None, None, None)


def looked(type_: type[contract.Resource], *names: str) -> dict[str, ObservationResult]:
    context = contract.Context(clock=Clock(), random=Random(1), reality=MemoryReality())
    looking = RealityReader(lambda _name: type_, context, RateLimit(0), within_s=0.3)
    found = asyncio.run(looking.observe(StackRef("p", "s"), [target(name, type_.TYPE) for name in names]))
    return {one.target.name: one.observation.result for one in found}


def test_a_service_that_hangs_delays_no_other_observation() -> None:
    found = looked(Hangs, *(f"r{n}" for n in range(40)), "well")
    assert len(found) == 41
    assert found["r0"] is found["r39"] is ObservationResult.UNSEEN


def test_what_answers_is_seen_beside_what_hangs() -> None:
    assert looked(Hangs, "hangs", "well") == {"hangs": ObservationResult.UNSEEN, "well": ObservationResult.SEEN}


def test_a_list_that_fails_has_seen_nothing() -> None:
    assert looked(Raises, "a", "b") == {"a": ObservationResult.UNSEEN, "b": ObservationResult.UNSEEN}


class Lists(Hangs):
    TYPE = "Test::Lists"
    calls: ClassVar[list[list[str]]] = []

    @classmethod
    async def observe_many(cls, context: Any, many: Any) -> Any:
        cls.calls.append([f"{one.stack_name}.{one.name}" for one in many])
        return [contract.Gone() if one.name == "gone" else contract.Seen({}) for one in many]


def test_stacks_of_one_project_share_a_call_and_others_do_not() -> Any:
    Lists.calls.clear()
    context = contract.Context(clock=Clock(), random=Random(1), reality=MemoryReality())
    reader = RealityReader(lambda _name: Lists, context, RateLimit(0))

    async def story() -> list[list[ObservationResult]]:
        found = await asyncio.gather(*(
            reader.observe(StackRef(project, stack), [target(name, Lists.TYPE) for name in names])
            for project, stack, names in (("p", "s1", "ab"), ("p", "s2", ["gone", "c"]), ("q", "s3", "d"))))
        return [[one.observation.result for one in findings] for findings in found]

    seen, gone = ObservationResult.SEEN, ObservationResult.GONE
    assert asyncio.run(story()) == [[seen, seen], [gone, seen], [seen]]
    assert Lists.calls == [["s1.a", "s1.b", "s2.gone", "s2.c"], ["s3.d"]]
    assert reader.calls == 2
