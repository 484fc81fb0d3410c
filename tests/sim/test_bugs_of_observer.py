"""The simulator can fail, of observers too: each seeded bug is found among the seeds that a test run tries anyway."""

from __future__ import annotations

import pytest
from bugs_of_observer import BUGS

from isotherm.sim import history, run

SEEDS = 2000


@pytest.mark.ledger("S1.5")
@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[name](monkeypatch)
    watched = (drawn for drawn in map(history.draw, range(SEEDS)) if drawn.watched.observers)
    assert any(not run.play(drawn).well for drawn in watched)


def test_there_are_enough_of_them() -> None:
    assert len(BUGS) >= 15
