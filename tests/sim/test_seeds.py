"""Histories of many seeds, each with its own crashes, lost answers and quarrelling clients: nothing breaks.

A seed that does is made smaller, and its story is the message of the failure.
"""

from __future__ import annotations

import pytest

from isotherm.sim.histories import drawn_histories
from tests.long_form import ALL
from tests.sim import seed_chunks

SEEDS = 2000 if ALL else 400


@pytest.mark.ledger("S0.4", "S2.6", "S2.7", "S2.9", "S2.10", "S2.12", "S2.13", "S2.17", "S2.18")
@pytest.mark.parametrize("first", range(0, SEEDS, seed_chunks.CHUNK))
def test_nothing_breaks(first: int) -> None:
    seed_chunks.check(drawn_histories.draw, first)
