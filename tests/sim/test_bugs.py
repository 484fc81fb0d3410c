"""The simulator can fail: each seeded bug is found among the seeds that a test run tries anyway."""

from __future__ import annotations

import pytest
from bugs import BUGS

from isotherm.sim import history, run

SEEDS = 2000


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[name](monkeypatch)
    found = next((seed for seed in range(SEEDS) if not run.play(history.draw(seed)).well), None)
    assert found is not None


def test_there_are_enough_of_them() -> None:
    assert len(BUGS) >= 30
