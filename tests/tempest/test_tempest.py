"""OpenStack's own tests of Heat pass against this service: all that need nothing else but Keystone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import tempest


@pytest.mark.long
def test_every_one_of_them_passes(tmp_path: Path) -> None:
    outcome = tempest.run(tmp_path, tempest.chosen(), workers=2)
    assert outcome.failed == {}
    assert (outcome.skipped, outcome.missing) == ([], [])
    assert len(outcome.passed) == 89


def test_two_halves_are_the_whole() -> None:
    first, second = tempest.chosen(half=1), tempest.chosen(half=2)
    assert sorted(first + second) == sorted(tempest.chosen())
    assert not {tempest.group(name) for name in first} & {tempest.group(name) for name in second}


def test_the_lists_and_the_reasons_are_all_tests_of_the_plug_in() -> None:
    without, with_cloud = tempest.chosen(), tempest.chosen(listed="cloud.txt")
    left_out = [line for line in (tempest.TESTS / "left-out.md").read_text().splitlines() if line.startswith("| `")]
    assert (len(without), len(with_cloud), len(left_out)) == (89, 36, 14)
    assert not {*without} & {*with_cloud}
