"""docs/stranger.md: every file and name on the page exists, and no task takes more than two hops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "stranger.md").read_text(encoding="utf-8")
TASKS = ("Add a route", "Add a resource type", "Change the retry pause of a poll", "Add a CLI option",
         "Find out why a node waits")
NAMED = sorted(set(re.findall(r"`((?:isotherm|tests|docs|examples)/[\w/]+\.\w+)(?:::(\w+))?`", PAGE)))


def test_the_page_has_the_five_tasks() -> None:
    assert tuple(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == TASKS


@pytest.mark.parametrize(("path", "symbol"), NAMED, ids=[f"{path}::{symbol}" for path, symbol in NAMED])
def test_what_the_page_names_exists(path: str, symbol: str) -> None:
    file = ROOT / path
    assert file.is_file()
    assert not symbol or re.search(rf"^(class {symbol}\b|(async )?def {symbol}\b|{symbol}\b.*=)", file.read_text("utf-8"),
                                   re.MULTILINE)


def test_no_task_takes_more_than_two_hops() -> None:
    hops = [int(number) for number in re.findall(r"^\| (\d+) \| ", PAGE, re.MULTILINE)]
    hops += [int(number) for number in re.findall(r"\bhop (\d+)\b", PAGE)]
    assert set(hops) == {1, 2}


def test_states_that_a_node_waits_in_are_on_the_page() -> None:
    states = (ROOT / "isotherm" / "states.py").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z]+)` \|", PAGE, re.MULTILINE)
    assert rows
    assert all(re.search(rf"^    {row} =", states, re.MULTILINE) for row in rows)
