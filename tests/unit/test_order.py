"""The order of the tests: long ones begin first, on all workers, and none is lost."""

from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from tests import conftest


def test_each_worker_begins_with_long_tests() -> None:
    assert conftest.shares(["A", "B", "C"], list("abcdefghi"), 4) == list("AabBcdCefghi")


@hypothesis.given(st.integers(0, 20), st.integers(0, 60), st.integers(1, 8))
def test_every_test_is_in_one_share(long: int, short: int, workers: int) -> None:
    first, rest = [f"long {number}" for number in range(long)], [f"short {number}" for number in range(short)]
    found = conftest.shares(first, rest, workers)
    assert sorted(found) == sorted(first + rest)
    assert [one for one in found if one in rest] == rest
