"""The simulator can fail: each seeded bug is found by the history that is stored for it."""

from __future__ import annotations

import dataclasses
import json

import pytest

from isotherm.sim.histories import drawn_histories, history, shapes
from tests.sim import bug_histories


def check(name: str) -> None:
    assert bug_histories.found(name) is not None, f"the stored history does not find {name} any more: {bug_histories.RENEW}"


@pytest.mark.parametrize("name", bug_histories.OF_ENGINE)
def test_the_bug_is_found(name: str) -> None:
    check(name)


@pytest.mark.ledger("S1.5")
@pytest.mark.parametrize("name", bug_histories.OF_OBSERVER)
def test_the_bug_of_the_observer_is_found(name: str) -> None:
    check(name)


def test_there_are_enough_of_them() -> None:
    assert len(bug_histories.OF_ENGINE) >= 30
    assert len(bug_histories.OF_OBSERVER) >= 15
    assert not bug_histories.OF_ENGINE.keys() & bug_histories.OF_OBSERVER.keys()


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_a_stored_history_is_the_one_that_was_drawn(first: int) -> None:
    for seed in range(first, first + 100):
        drawn = dataclasses.replace(drawn_histories.draw(seed), muted=frozenset({3, 1}))
        assert bug_histories.parsed(json.loads(json.dumps(bug_histories.plain(drawn)))) == drawn


def test_a_stored_history_outlives_a_change_of_fields() -> None:
    told = {"seed": 7, "workers": 1, "rates": {}, "of_tomorrow": 1,
            "requests": [{"at": 1, "stack": "s0", "verb": "create", "shape": {"a": {"a": "v1", "of_tomorrow": []}}}]}
    parsed = bug_histories.parsed(told)
    assert parsed == history.History(
        7, 1, (history.Request(1.0, "s0", history.Verb.CREATE, {"a": shapes.Part(a="v1")}),), {})
