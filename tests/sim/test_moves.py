"""Histories in which clients move resources to other names, with crashes and rollbacks: each object stays what it is."""

from __future__ import annotations

from random import Random

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.histories.history import History
from isotherm.sim.seeds import shrink
from tests.long_form import ALL

SEEDS = 1000 if ALL else 150
CHUNK = 25


def history(seed: int) -> History:
    return drawn_histories.moving(Random(f"moving/{seed}"), seed)


def story(seed: int) -> str:
    drawn = history(seed)
    small = shrink.shrink(drawn, run.play(drawn), seconds=20.0)
    return "\n".join([f"seed {seed} broke {small.outcome.violations[0]}", *small.outcome.lines])


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_breaks(first: int) -> None:
    broken = [seed for seed in range(first, first + CHUNK) if not run.play(history(seed)).well]
    assert not broken, story(broken[0])


def test_most_moves_are_carried_out_and_some_are_taken_back() -> None:
    lines = [line for seed in range(20) for line in run.play(history(seed)).lines]
    assert sum("moves to" in line for line in lines) > 20
    assert sum("cannot move to" in line for line in lines) < sum("moves to" in line for line in lines) / 2
    assert any("accepted ROLLBACK" in line for line in lines)
