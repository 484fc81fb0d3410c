"""The simulator can fail, of observers too: each seeded bug is found by the history of some seed."""

from __future__ import annotations

import finding
import pytest
from bugs_of_observer import BUGS


@pytest.mark.ledger("S1.5")
@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding.found("bugs_of_observer", name, monkeypatch) is not None, finding.__doc__


def test_there_are_enough_of_them() -> None:
    assert len(BUGS) >= 15
