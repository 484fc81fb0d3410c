"""`isotherm apply`, saved plans, and plans of stacks: what is shown is what is done, or nothing is done."""

from __future__ import annotations

import asyncio
import contextlib
import stat
from pathlib import Path
from typing import Any

import pytest

from isotherm.cli import codes
from isotherm.resources.reality.journal import JournalReality
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("engine_at")

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  length: {type: number}
  colour: {type: string, default: red}
  secret: {type: string, hidden: true, default: hush}
resources:
  lamp:
    type: OS::Heat::Dummy
    properties: {name_len: {get_param: length}, max_wait_secs: 0, update_in_place_prop: {get_param: colour}}
  shade:
    type: OS::Heat::TestResource
    properties: {value: {get_attr: [lamp, name]}}
  word:
    type: OS::Heat::TestResource
    properties: {value: {get_param: secret}}
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "lamp.yaml"
    file.write_text(TEMPLATE)
    return file


@pytest.fixture
def lamp(text: Path, run: Run) -> Path:
    assert run("apply", "lamp", "-t", text, "-p", "length=4", "--yes").code == codes.OK
    return text


def status(run: Run) -> str:
    return str(run("show", "lamp", "--json").data["stack_status"])


def ids(run: Run) -> dict[str, Any]:
    return {one["resource_name"]: one["physical_resource_id"] for one in run("resources", "lamp", "--json").data}


def test_apply_creates_and_then_updates(run: Run, text: Path) -> None:
    made = run("apply", "lamp", "-t", text, "-p", "length=4", "--yes")
    assert made.code == codes.OK
    assert "lamp: 3 to create" in made.out
    assert "name_len: 4" in made.out
    assert status(run) == "CREATE_COMPLETE"
    before = ids(run)
    changed = run("apply", "lamp", "-t", text, "-p", "colour=blue", "--yes")
    assert "2 to update in place, 1 without change" in changed.out
    assert "~ shade  OS::Heat::TestResource  update?" in changed.out
    assert "update_in_place_prop: red → blue" in changed.out
    assert (status(run), ids(run)) == ("UPDATE_COMPLETE", before)


def test_parameters_of_the_stack_are_kept_unless_it_is_to_be_fresh(run: Run, lamp: Path) -> None:
    run("apply", "lamp", "-t", lamp, "-p", "colour=blue", "--yes")
    again = run("apply", "lamp", "-t", lamp, "--yes")
    assert "3 without change" in again.out
    fresh = run("apply", "lamp", "-t", lamp, "-p", "length=4", "--fresh", "--yes")
    assert "update_in_place_prop: blue → red" in fresh.out


def test_values_come_from_variables_and_the_command_line_wins(
    run: Run, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOTHERM_VAR_length", "7")
    monkeypatch.setenv("ISOTHERM_VAR_colour", "green")
    monkeypatch.setenv("ISOTHERM_VAR_unknown", "x")
    values = {one["resource_name"]: one["changes"] for one in run(
        "plan", "lamp", "-t", text, "-p", "colour=blue", "--json").data["resources"]}
    assert values["lamp"]["name_len"] == {"from": None, "to": 7}
    assert values["lamp"]["update_in_place_prop"]["to"] == "blue"
    environment = text.with_name("environment.yaml")
    environment.write_text("parameters: {length: 5}")
    found = run("plan", "lamp", "-t", text, "-e", environment, "--json").data["resources"][0]["changes"]
    assert (found["name_len"]["to"], found["update_in_place_prop"]["to"]) == (5, "green")


def test_without_a_terminal_a_change_needs_a_yes_and_destruction_the_number(run: Run, lamp: Path) -> None:
    before = ids(run)
    for refused in (["colour=blue"], ["length=9", "--yes"], ["length=9", "--yes", "--destroy", "2"]):
        ran = run("apply", "lamp", "-t", lamp, "-p", *refused)
        assert ran.code == codes.USAGE, refused
        assert (status(run), ids(run)) == ("CREATE_COMPLETE", before)
    assert "deletes or replaces 1 resource" in ran.err
    assert run("apply", "lamp", "-t", lamp, "-p", "length=9", "--yes", "--destroy", "1").code == codes.OK
    assert len(ids(run)["lamp"]) == 9
    assert run("apply", "lamp", "-t", lamp, "-p", "length=5", "--yes", "--destroy", "all").code == codes.OK


def test_a_saved_plan_is_applied_once_and_exactly(run: Run, lamp: Path, tmp_path: Path) -> None:
    file = tmp_path / "lamp.plan"
    planned = run("plan", "lamp", "-t", lamp, "-p", "length=9", "-p", "secret=tell-nobody", "--out", file,
                  "--detailed-exitcode")
    assert planned.code == codes.CHANGES
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"tell-nobody" not in file.read_bytes()
    lamp.write_text("what is in the file now does not matter")
    assert run("apply", file).code == codes.OK
    assert len(ids(run)["lamp"]) == 9
    again = run("apply", file)
    assert again.code == codes.CONFLICT
    assert "another operation was accepted" in " ".join(again.err.split())


def test_a_saved_plan_of_a_create(run: Run, text: Path, tmp_path: Path) -> None:
    file = tmp_path / "lamp.plan"
    run("plan", "lamp", "-t", text, "-p", "length=4", "--out", file)
    assert run("apply", file).code == codes.OK
    assert status(run) == "CREATE_COMPLETE"
    refused = run("apply", file)
    assert refused.code == codes.CONFLICT
    assert "has been created meanwhile" in refused.err


def test_a_saved_plan_is_refused_when_the_stack_is_gone(run: Run, lamp: Path, tmp_path: Path) -> None:
    file = tmp_path / "lamp.plan"
    run("plan", "lamp", "-t", lamp, "-p", "length=9", "--out", file)
    run("delete", "lamp", "--yes")
    refused = run("apply", file)
    assert refused.code == codes.CONFLICT
    assert "has been deleted meanwhile" in refused.err


def test_a_saved_plan_is_refused_after_drift(run: Run, lamp: Path, tmp_path: Path, home: Path) -> None:
    file = tmp_path / "lamp.plan"
    run("plan", "lamp", "-t", lamp, "-p", "colour=blue", "--out", file)
    with contextlib.closing(JournalReality(home / "reality.journal")) as reality:
        assert asyncio.run(reality.delete(ids(run)["word"]))
    assert run("plan", "lamp").out.startswith("lamp: 3 without change")
    refreshed = run("plan", "lamp", "--refresh")
    assert "Drift: changed outside of Isotherm" in refreshed.out
    assert "word  gone" in refreshed.out
    refused = run("apply", file)
    assert (refused.code, "a resource has drifted" in " ".join(refused.err.split())) == (codes.CONFLICT, True)
    assert status(run) == "CREATE_COMPLETE"


@pytest.mark.parametrize("where", [20, 60, -10])
def test_a_saved_plan_that_was_changed_is_refused(run: Run, lamp: Path, tmp_path: Path, where: int) -> None:
    file = tmp_path / "lamp.plan"
    run("plan", "lamp", "-t", lamp, "-p", "colour=blue", "--out", file)
    sealed = bytearray(file.read_bytes())
    sealed[where] ^= 1
    file.write_bytes(sealed)
    refused = run("apply", file)
    assert refused.code == codes.WRONG
    assert "the plan was changed, or it was made in another home" in refused.err


def test_a_saved_plan_of_another_home_is_refused(
    run: Run, lamp: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lamp.plan"
    run("plan", "lamp", "-t", lamp, "-p", "colour=blue", "--out", file)
    monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "third"))
    assert run("apply", file).code == codes.WRONG


def test_the_exit_code_tells_whether_a_plan_changes_something(run: Run, lamp: Path) -> None:
    assert run("plan", "lamp", "--detailed-exitcode").code == codes.OK
    assert run("plan", "lamp", "-t", lamp, "-p", "length=9").code == codes.OK
    assert run("plan", "lamp", "-t", lamp, "-p", "length=9", "--detailed-exitcode").code == codes.CHANGES


def test_what_plan_and_apply_do_not_take(run: Run, lamp: Path, tmp_path: Path) -> None:
    file = tmp_path / "lamp.plan"
    run("plan", "lamp", "-t", lamp, "-p", "colour=blue", "--out", file)
    assert run("apply", file, "-t", lamp).code == codes.USAGE
    assert run("apply", "lamp", "-p", "length=5").code == codes.USAGE
    assert run("plan", lamp, "--out", file).code == codes.USAGE
    assert run("plan", "lamp", "-t", lamp, "--dot").code == codes.USAGE
    assert run("plan", "lamp", "-p", "length=5").code == codes.USAGE
    assert run("plan", "no-such-file.yaml").code == codes.USAGE
    assert run("plan", "no-such-stack").code == codes.NOT_FOUND
    assert run("apply", "no-such-stack", "--yes").code == codes.NOT_FOUND
    refused = run("plan", "lamp", "-t", lamp, "-p", "colour=blue", "--out", tmp_path / "no" / "folder")
    assert refused.code == codes.WRONG
    assert "No such file or directory" in refused.err


def test_a_plan_says_what_an_inner_stack_would_become(run: Run, tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text("""
heat_template_version: 2018-08-31
parameters: {colour: {type: string}}
resources: {bulb: {type: OS::Heat::TestResource, properties: {value: {get_param: colour}}}}
""")
    outer = tmp_path / "outer.yaml"
    outer.write_text("""
heat_template_version: 2018-08-31
parameters: {colour: {type: string, default: red}}
resources: {inside: {type: inner.yaml, properties: {colour: {get_param: colour}}}}
""")
    assert run("apply", "outer", "-t", outer, "--yes").code == codes.OK
    planned = run("plan", "outer", "-t", outer, "-p", "colour=blue")
    assert "~ inside.bulb" in planned.out
    assert "value: red → blue" in planned.out
