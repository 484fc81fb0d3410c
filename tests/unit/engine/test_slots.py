"""The limits on steps of a type: kept, given back, and waited for without busy polling."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest

from isotherm import errors
from isotherm.config import Settings
from isotherm.engine.steps import outcomes
from isotherm.engine.steps.throttle import TypeThrottle
from isotherm.planning import documents
from isotherm.resources import contract
from isotherm.resources.reality.journal import MemoryReality
from isotherm.states import Action, DeletionPolicy, NodeKind, NodeState, Status
from isotherm.store.records import Claim, Operation, Report, Version

numbers = itertools.count(1)


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> Any:
        return self.time


def claim(stack: str = "s", type_: str = "OS::Nova::Server", intent: Any = None) -> Any:
    operation = Operation("op", stack, stack, 1, Action.CREATE, 2, "", True, None, "[]", 1, None, 0)
    version = Version(1, stack, "r", type_, type_, "t", None, Action.CREATE, Status.IN_PROGRESS, "", "{}", None, "{}", "{}",
                      None, "[]", None, False, DeletionPolicy.DELETE, False, "op", intent)
    return Claim(next(numbers), stack, "r", NodeKind.UPDATE, 1, 1, 0.0, None, None, version, (), operation)


def step(of: Any) -> Any:
    return outcomes.Continue(of.version, documents.Intent(Action.CREATE, "op"), None)


def take(found: Any, of: Any) -> Any:
    return found.take(of, step(of))


def slots(*told: Any, clock: Any = None) -> Any:
    context = contract.Context(clock=clock or Clock(), random=Random(1), reality=MemoryReality())
    return TypeThrottle.of(Settings(max_parallel_steps=told), context)


def test_a_type_and_all_that_it_belongs_to_have_slots_of_their_own() -> None:
    found = slots("OS::Nova::Server=2", "OS::Nova=3")
    held = [claim(), claim()]
    assert [take(found, one) for one in held] == [None, None]
    third = claim()
    refused = take(found, third)
    assert refused.reason == "2 steps of OS::Nova::Server are under way, the most allowed"
    assert take(found, claim(type_="OS::Nova::Flavor")) is None
    refused = take(found, claim(type_="OS::Nova::KeyPair"))
    assert refused.reason == "3 steps of OS::Nova are under way, the most allowed"
    # What only begins with the same letters is something else.
    assert take(found, claim(type_="OS::NovaLike::Server")) is None
    found.free(held[0].key)
    assert take(found, third) is None


def test_a_slot_only_given_and_given_back_once() -> None:
    found = slots("OS::Nova=1")
    one, other = claim(), claim()
    for _ in range(3):
        assert take(found, one) is None
    for _ in range(3):
        found.free(one.key)
    assert take(found, other) is None
    assert take(found, one) is not None


def test_an_answer_without_a_call_needs_no_slot() -> None:
    found = slots("OS::Nova=1")
    one = claim()
    take(found, one)
    other = claim()
    for answer in (Report(other, NodeState.DONE), outcomes.LookUp(secrets=True), outcomes.LookUp(template="x")):
        assert found.take(other, answer) is None
    assert found.take(other, outcomes.LookUp(other.version)) is not None


@pytest.mark.parametrize(("intent", "state"), [(None, NodeState.SCHEDULED), ("{}", NodeState.WAITING)])
def test_what_has_not_begun_is_where_it_was(intent: Any, state: Any) -> None:
    found = slots("OS::Nova=1")
    take(found, claim())
    refused = take(found, claim(intent=intent))
    assert refused.state is state and refused.version is None
    assert 0.03 < refused.wake_in_s < 10


def test_many_waiting_nodes_do_not_delay_a_small_stack() -> None:
    clock = Clock()
    found = slots("OS::Nova=10", clock=clock)
    for _ in range(200):
        one = claim()
        take(found, one)
        clock.time += 1.0
        found.free(one.key)
    held = [claim() for _ in range(10)]
    for one in held:
        take(found, one)
    waits = [take(found, one).wake_in_s for one in (claim("big") for _ in range(400))]
    # Steps of a second, ten at a time: forty seconds' work; each slot is come for twice.
    assert 15 < max(waits) < 25
    assert take(found, claim("small")).wake_in_s < 0.2
    endless = [take(found, one).wake_in_s for one in (claim("big") for _ in range(5000))]
    assert max(endless) <= 72


@pytest.mark.parametrize("told", ["OS::Nova", "OS::Nova=many", "=3", "OS::Nova=-1"])
def test_what_is_no_limit_is_refused(told: Any) -> None:
    with pytest.raises(errors.UserError, match="is not TYPE=NUMBER"):
        slots(told)


def test_zero_is_no_limit() -> None:
    found = slots("OS::Nova=0")
    assert all(take(found, one) is None for one in (claim() for _ in range(100)))
