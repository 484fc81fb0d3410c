"""Histories in which clients move resources between two stacks, with crashes, updates and deletes in between."""

from __future__ import annotations

from random import Random

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.histories.history import History
from tests.long_form import ALL
from tests.sim import seed_chunks

SEEDS = 1000 if ALL else 75


def history(seed: int) -> History:
    return drawn_histories.moving_between(Random(f"between/{seed}"), seed)


@pytest.mark.parametrize("first", range(0, SEEDS, seed_chunks.CHUNK))
def test_nothing_breaks(first: int) -> None:
    seed_chunks.check(history, first)


def test_many_moves_are_carried_out() -> None:
    lines = [line for seed in range(20) for line in run.play(history(seed)).lines]
    asked = sum("move a resource of" in line for line in lines)
    assert asked > 30
    assert sum(": moved " in line for line in lines) > asked / 5
