"""Histories in which clients move resources between two stacks, with crashes, updates and deletes in between."""

from __future__ import annotations

from random import Random

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.histories.history import History
from isotherm.sim.seeds import shrink
from tests.long_form import ALL

SEEDS = 1000 if ALL else 75
CHUNK = 25


def history(seed: int) -> History:
    return drawn_histories.moving_between(Random(f"between/{seed}"), seed)


def story(seed: int) -> str:
    drawn = history(seed)
    small = shrink.shrink(drawn, run.play(drawn), seconds=20.0)
    return "\n".join([f"seed {seed} broke {small.outcome.violations[0]}", *small.outcome.lines])


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_breaks(first: int) -> None:
    broken = [seed for seed in range(first, first + CHUNK) if not run.play(history(seed)).well]
    assert not broken, story(broken[0])


def test_many_moves_are_carried_out() -> None:
    lines = [line for seed in range(20) for line in run.play(history(seed)).lines]
    asked = sum("move a resource of" in line for line in lines)
    assert asked > 30
    assert sum(": moved " in line for line in lines) > asked / 5
