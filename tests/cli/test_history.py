"""`isotherm history`, `isotherm diff`, and the way back with `isotherm rollback --to`."""

from __future__ import annotations

from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("engine_at")

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  colour: {type: string}
  secret: {type: string, hidden: true, default: hush}
resources:
  lamp:
    type: OS::Heat::TestResource
    properties: {value: {get_param: colour}}
"""


@pytest.fixture
def lamp(tmp_path: Path, run: Run) -> Path:
    file = tmp_path / "lamp.yaml"
    file.write_text(TEMPLATE)
    assert run("deploy", "lamp", "-t", file, "-p", "colour=red").code == codes.OK
    assert run("update", "lamp", "-t", file, "-p", "colour=blue", "-p", "secret=shh").code == codes.OK
    return file


def test_history_names_the_generations_and_what_changed(run: Run, lamp: Path) -> None:
    shown = run("history", "lamp")
    assert shown.code == codes.OK
    assert [line.split()[:2] for line in shown.out.splitlines()[1:]] == [["2", "UPDATE_COMPLETE"], ["1", "CREATE_COMPLETE"]]
    assert "parameters" in shown.out
    assert [one["generation"] for one in run("history", "lamp", "--json").data["history"]] == [2, 1]


def test_diff_shows_values_and_lines_without_secrets(run: Run, lamp: Path) -> None:
    lamp.write_text(TEMPLATE.replace("lamp:", "light:"))
    run("update", "lamp", "-t", lamp, "-p", "colour=blue", "-p", "secret=shh")
    shown = run("diff", "lamp", 1, 3)
    assert shown.code == codes.OK
    assert "-  lamp:" in shown.out
    assert "+  light:" in shown.out
    assert "red" in shown.out
    assert "hush" not in shown.out
    assert "shh" not in shown.out
    assert run("diff", "lamp", 1, 3, "--json").data["parameters"]["colour"] == {"from": "red", "to": "blue"}
    assert run("diff", "lamp", 3, 3).out.strip() == "The inputs are the same."


def test_the_way_back_is_planned_and_gone(run: Run, lamp: Path) -> None:
    planned = run("rollback", "lamp", "--to", 1, "--plan")
    assert planned.code == codes.OK
    assert "value: blue → red" in planned.out
    assert run("history", "lamp", "--json").data["history"][0]["generation"] == 2
    assert run("rollback", "lamp", "--to", 1).code == codes.OK
    assert run("history", "lamp", "--json").data["history"][0]["generation"] == 3


def test_a_generation_that_is_not_there_is_refused(run: Run, lamp: Path) -> None:
    refused = run("rollback", "lamp", "--to", 9)
    assert refused.code == codes.NOT_FOUND
    assert "no generation 9" in refused.err
    assert run("rollback", "lamp", "--plan").code == codes.USAGE
