"""The text of constraints and values."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isotherm.cli.show import console


@pytest.mark.parametrize(("kind", "facts", "words"), [
    ("range", {"min": 1, "max": 5}, "1 to 5"),
    ("range", {"min": 0}, "at least 0"),
    ("length", {"max": 8}, "length at most 8"),
    ("allowed_values", ["a", 2, True], "one of a, 2, true"),
    ("allowed_pattern", "[a-z]+", "matches [a-z]+"),
    ("modulo", {"step": 5, "offset": 2}, "a multiple of 5, plus 2"),
    ("custom_constraint", "nova.flavor", "checked by nova.flavor"),
])
def test_a_limit_in_words(kind: str, facts: object, words: str) -> None:
    assert console.limit(kind, facts) == words


def test_a_value_is_shown_as_it_is_written() -> None:
    assert [str(console.text(value)) for value in ("a", 1, True, None, ["a"])] == ["a", "1", "true", "", '["a"]']


LEAVES = str(Path(__file__).resolve().parents[2] / "examples" / "leaves.yaml")


@pytest.mark.parametrize("arguments", [["function", "list"], ["plan", LEAVES, "--json"]])
def test_a_closed_pipe_is_no_error(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "isotherm.cli.main", *arguments], stdout=writer,
                          stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_plain_lines_are_as_wide_as_they_need_to_be() -> None:
    drawn = console.table(["name", "value"], [("a", "x" * 500), ("wide 漢", 1)])
    assert [line.rstrip() for line in drawn.lines()] == ["name     value", "a        " + "x" * 500, "wide 漢  1"]


def test_numbers_of_things() -> None:
    assert [console.count(number, "step") for number in (0, 1, 10_000)] == ["0 steps", "1 step", "10,000 steps"]
