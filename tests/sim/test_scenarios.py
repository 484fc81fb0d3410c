"""Every story under tests/scenarios, in many orders of its messages; all 200 with `make scenarios` or `make test-all`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isotherm.sim import scenario
from tests.long_form import ALL

STORIES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.py"))
ORDERS = int(os.environ.get("ISOTHERM_ORDERS", "200" if ALL else "12"))


@pytest.mark.ledger("S2.6", "S2.7", "S2.13", "S2.14")
@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_the_story_ends_well_in_every_order(story: Path) -> None:
    for seed in range(ORDERS):
        result = scenario.play(story, seed)
        assert not result.problem, f"seed {seed}: {result.problem}\n" + "\n".join(result.lines)


def test_there_are_enough_of_them() -> None:
    assert len(STORIES) >= 30


def test_a_story_can_go_wrong(tmp_path: Path) -> None:
    lie = tmp_path / "lie.py"
    lie.write_text('engine.create_stack("s", Template({"A": RsrcDef({"a": "x"}, [])}))\nengine.noop(1)\n'
                   'engine.call(verify, Template({"A": RsrcDef({"a": "y"}, [])}))\n', encoding="utf-8")
    assert "Unexpected value of A.a" in scenario.play(lie).problem


def test_a_step_is_one_node(tmp_path: Path) -> None:
    """What a script counts in mid-flight is what is done at that point."""
    chain = tmp_path / "chain.py"
    chain.write_text('chain = Template({"A": RsrcDef({}, []), "B": RsrcDef({}, ["A"]), "C": RsrcDef({}, ["B"])})\n'
                     'engine.create_stack("s", chain)\n'
                     'for count in (1, 2, 3):\n'
                     '    engine.call(lambda n: test.assertEqual(n, len(reality.all_resources())), count)\n',
                     encoding="utf-8")
    assert not scenario.play(chain).problem
