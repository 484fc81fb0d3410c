"""Histories in which clients move resources to other names, with crashes and rollbacks: each object stays what it is."""

from __future__ import annotations

from random import Random

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.histories.history import History
from tests.long_form import ALL
from tests.sim import seed_chunks

SEEDS = 1000 if ALL else 150


def history(seed: int) -> History:
    return drawn_histories.moving(Random(f"moving/{seed}"), seed)


@pytest.mark.parametrize("first", range(0, SEEDS, seed_chunks.CHUNK))
def test_nothing_breaks(first: int) -> None:
    seed_chunks.check(history, first)


def test_most_moves_are_carried_out_and_some_are_taken_back() -> None:
    lines = [line for seed in range(20) for line in run.play(history(seed)).lines]
    assert sum("moves to" in line for line in lines) > 20
    assert sum("cannot move to" in line for line in lines) < sum("moves to" in line for line in lines) / 2
    assert any("accepted ROLLBACK" in line for line in lines)
