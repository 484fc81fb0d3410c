"""The simulator can fail: each seeded bug is found by the history of some seed."""

from __future__ import annotations

import finding
import pytest

OF_OBSERVER = [pytest.param(name, marks=pytest.mark.ledger("S1.5")) for name in finding.OF_OBSERVER]


@pytest.mark.parametrize("name", [*finding.OF_ENGINE, *OF_OBSERVER])
def test_the_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding.found(name, monkeypatch) is not None, finding.__doc__


def test_there_are_enough_of_them() -> None:
    assert len(finding.OF_ENGINE) >= 30
    assert len(finding.OF_OBSERVER) >= 15
    assert not finding.OF_ENGINE.keys() & finding.OF_OBSERVER.keys()
