"""Histories in which clients protect stacks and resources at random: nothing protected is deleted, replaced or changed."""

from __future__ import annotations

from random import Random

import pytest

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.histories.history import History
from isotherm.sim.seeds import shrink
from tests.long_form import ALL
from tests.sim.legacy_world import LegacyRun

FIRST = drawn_histories.PROTECTED_FROM
SEEDS = 1000 if ALL else 75
CHUNK = 25


def protected(seed: int) -> History:
    """Return the history of a seed with requests for protection, also if its own dice have left them out."""
    drawn = drawn_histories.draw(seed)
    asked = any(one.verb.name == "PROTECT" for one in drawn.requests)
    return drawn if asked else drawn_histories.protected(Random(f"protected/{seed}"), drawn)


@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, CHUNK))
def test_nothing_protected_is_harmed(first: int) -> None:
    outcomes = [run.play(protected(seed)) for seed in range(first, first + CHUNK)]
    broken = [one for one in outcomes if not one.well]
    if broken:
        small = shrink.shrink(protected(broken[0].seed), broken[0], seconds=20.0)
        pytest.fail("\n".join([f"seed {broken[0].seed} broke {small.outcome.violations[0]}", *small.outcome.lines]))
    assert any("is protected from" in line for one in outcomes for line in one.lines), "something was refused"


@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS // 3, CHUNK))
def test_nothing_protected_is_harmed_on_the_legacy_path(first: int) -> None:
    outcomes = [LegacyRun(protected(seed)).play() for seed in range(first, first + CHUNK)]
    broken = [one for one in outcomes if not one.well]
    assert not broken, "\n".join([f"seed {broken[0].seed} broke {broken[0].violations[0]}", *broken[0].lines])
