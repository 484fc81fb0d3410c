"""Histories of many seeds, each with its own crashes, lost answers and quarrelling clients: nothing breaks.

A seed that does is made smaller, and its story is the message of the failure.
"""

from __future__ import annotations

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.seeds import shrink
from tests.long_form import ALL

SEEDS = 2000 if ALL else 400
CHUNK = 25


def story(seed: int) -> str:
    drawn = drawn_histories.draw(seed)
    small = shrink.shrink(drawn, run.play(drawn), seconds=20.0)
    return "\n".join([f"seed {seed} broke {small.outcome.violations[0]}", *small.outcome.lines])


@pytest.mark.ledger("S0.4", "S2.6", "S2.7", "S2.9", "S2.10", "S2.12", "S2.13", "S2.17", "S2.18")
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_breaks(first: int) -> None:
    broken = [seed for seed in range(first, first + CHUNK) if not run.play(drawn_histories.draw(seed)).well]
    assert not broken, story(broken[0])
