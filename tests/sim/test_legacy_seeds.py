"""The same histories on the legacy path: engines die, answers get lost, clients quarrel, and nothing breaks.

What is wanted is reached in the end from every state that a dead engine may leave behind, and no object is lost.
"""

from __future__ import annotations

import pytest

from isotherm.sim.histories import drawn_histories
from tests.long_form import ALL
from tests.sim.legacy_world import LegacyRun

SEEDS = 200 if ALL else 100
CHUNK = 25


@pytest.mark.ledger("S3.3")
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_breaks_on_the_legacy_path(first: int) -> None:
    outcomes = [LegacyRun(drawn_histories.draw(seed)).play() for seed in range(first, first + CHUNK)]
    broken = [one for one in outcomes if not one.well]
    assert not broken, "\n".join([f"seed {broken[0].seed} broke {broken[0].violations[0]}", *broken[0].lines])
    assert any("Engine went down" in line for one in outcomes for line in one.lines), "engines do die here"
    assert any("already has an action" in line for one in outcomes for line in one.lines)
