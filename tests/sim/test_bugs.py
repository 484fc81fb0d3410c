"""The simulator can fail: each seeded bug is found by the history of some seed."""

from __future__ import annotations

import finding
import pytest


@pytest.mark.parametrize("name", finding.OF_ENGINE)
def test_the_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding.found(name, monkeypatch) is not None, finding.__doc__


@pytest.mark.ledger("S1.5")
@pytest.mark.parametrize("name", finding.OF_OBSERVER)
def test_the_bug_of_the_observer_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding.found(name, monkeypatch) is not None, finding.__doc__


def test_there_are_enough_of_them() -> None:
    assert len(finding.OF_ENGINE) >= 30
    assert len(finding.OF_OBSERVER) >= 15
    assert not finding.OF_ENGINE.keys() & finding.OF_OBSERVER.keys()
