"""The simulator can fail: each seeded bug is found by the history of some seed."""

from __future__ import annotations

import finding
import pytest
from bugs import BUGS


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding.found("bugs", name, monkeypatch) is not None, finding.__doc__


def test_there_are_enough_of_them() -> None:
    assert len(BUGS) >= 30
