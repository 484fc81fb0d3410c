"""The same histories with sealed columns: encryption does not change what the engine does."""

from __future__ import annotations

import functools

import pytest

from isotherm.secrets.ring import KeyRing
from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.store.memory import MemoryDatabase

SEEDS = 30


@functools.cache
def sealed() -> MemoryDatabase:
    ring = KeyRing(["the newest key of the simulation", "an older key of the simulation.."])
    return MemoryDatabase(lambda: ring)


def test_a_ring_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [run.play(drawn_histories.draw(seed)) for seed in range(SEEDS)]
    monkeypatch.setattr(run, "database", sealed)
    for seed, before in enumerate(plain):
        after = run.play(drawn_histories.draw(seed))
        assert after.well, (seed, after.violations[:1])
        assert after.lines == before.lines, seed
