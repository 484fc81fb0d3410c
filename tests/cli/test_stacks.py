"""Stacks on the command line: created, updated, failed, rolled back, observed and deleted."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from isotherm.cli import codes
from isotherm.resources.reality.journal import JournalReality
from tests.cli.conftest import Ran, Run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

PAIR = """
heat_template_version: 2018-08-31
parameters:
  length: {type: number, default: 8}
  colour: {type: string, default: red}
  fail: {type: string, default: "no"}
  secret: {type: string, hidden: true, default: hush}
resources:
  lamp:
    type: OS::Heat::Dummy
    properties: {max_wait_secs: 0.05, name_len: {get_param: length}}
  shade:
    type: OS::Heat::Dummy
    properties:
      max_wait_secs: 0.05
      fail_prop: {get_param: fail}
      update_in_place_prop: {list_join: ["-", [{get_param: colour}, {get_resource: lamp}, {get_param: secret}]]}
outputs:
  lamp: {value: {get_resource: lamp}, description: Its name.}
  facts: {value: {colour: {get_param: colour}}}
"""


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    file = tmp_path / "pair.yaml"
    file.write_text(PAIR)
    return file


def lines(ran: Ran) -> list[Any]:
    return [json.loads(line) for line in ran.out.splitlines()]


def ids(run: Run, name: str = "pair") -> dict[str, str]:
    return {r["resource_name"]: r["physical_resource_id"] for r in run("resources", name, "--json").data}


def test_lost_and_wrong_keys_are_told_in_words(run: Run, pair: Path, home: Path) -> None:
    run("deploy", "pair", "-t", pair)
    keys = (home / "keys").read_text()
    (home / "keys").unlink()
    for command in (("show", "pair"), ("list",), ("delete", "pair", "--yes")):
        ran = run(*command)
        assert (ran.code, ran.out) == (codes.WRONG, ""), command
        assert str(home / "keys") in ran.err
        assert "Traceback" not in ran.err
    assert not (home / "keys").exists()
    (home / "keys").write_text("0123456789abcdef" * 4)
    (home / "keys").chmod(0o600)
    for command in (("outputs", "pair"), ("export", "pair")):
        ran = run(*command)
        assert (ran.code, ran.out) == (codes.WRONG, ""), command
        assert "auth_encryption_key_ring" in ran.err
        assert "Traceback" not in ran.err
    (home / "keys").write_text(keys)
    assert run("outputs", "pair").code == codes.OK


@pytest.mark.usefixtures("engine_at")
@pytest.mark.ledger("S2.1", "S2.3")
def test_deploy_makes_a_stack_and_tells_each_event(run: Run, pair: Path) -> None:
    ran = run("deploy", "pair", "-t", pair)
    assert ran.code == codes.OK
    told = [line.split()[1:3] for line in ran.out.splitlines() if line.startswith("20")]
    assert told == [
        ["CREATE_IN_PROGRESS", "stack"], ["CREATE_IN_PROGRESS", "lamp"], ["CREATE_COMPLETE", "lamp"],
        ["CREATE_IN_PROGRESS", "shade"], ["CREATE_COMPLETE", "shade"], ["CREATE_COMPLETE", "stack"]]
    assert "✓ pair CREATE_COMPLETE" in ran.out
    assert len(ids(run)["lamp"]) == 8
    assert ids(run)["lamp"] in ran.out


@pytest.mark.usefixtures("engine_at")
def test_json_is_lines_of_events_and_a_document_at_the_end(run: Run, pair: Path) -> None:
    *events, last = lines(run("deploy", "pair", "-t", pair, "--json"))
    assert [e["event"]["resource_status"] for e in events][-1] == "CREATE_COMPLETE"
    assert last["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert {o["output_key"]: o["output_value"] for o in last["outputs"]}["facts"] == {"colour": "red"}


@pytest.mark.usefixtures("engine_at")
@pytest.mark.ledger("S2.5")
def test_an_update_without_change_touches_nothing(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    before = ids(run)
    *events, last = lines(run("update", "pair", "-t", pair, "--json"))
    assert [e["event"]["resource_name"] for e in events] == ["", ""]
    assert last["stack"]["stack_status"] == "UPDATE_COMPLETE"
    assert ids(run) == before


@pytest.mark.usefixtures("engine_at")
@pytest.mark.ledger("S2.1")
def test_in_place_and_by_replacement(run: Run, pair: Path, home: Path) -> None:
    run("deploy", "pair", "-t", pair)
    before = ids(run)
    assert run("update", "pair", "-t", pair, "-p", "colour=blue").code == codes.OK
    assert ids(run) == before
    assert run("update", "pair", "-t", pair, "-p", "colour=blue", "-p", "length=12").code == codes.OK
    after = ids(run)
    assert len(after["lamp"]) == 12
    assert after["shade"] == before["shade"]
    journal = [json.loads(line) for line in (home / "reality.journal").read_text().splitlines()]
    assert journal[-1] == {"id": before["lamp"]}


@pytest.mark.usefixtures("engine_at")
@pytest.mark.ledger("S2.1")
def test_a_failure_is_a_code_of_its_own_and_an_update_mends_it(run: Run, pair: Path) -> None:
    ran = run("deploy", "pair", "-t", pair, "-p", "fail=yes")
    assert ran.code == codes.FAILED
    assert "Dummy resource failed shade" in ran.out
    lamp = ids(run)["lamp"]
    assert run("update", "pair", "-t", pair).code == codes.OK
    assert ids(run)["lamp"] == lamp


@pytest.mark.usefixtures("engine_at")
@pytest.mark.ledger("S2.14")
def test_rollback_of_an_update_that_failed_takes_the_older_versions_up_again(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    before = ids(run)
    ran = run("update", "pair", "-t", pair, "-p", "fail=yes", "-p", "length=12", "--rollback")
    assert ran.code == codes.FAILED
    assert "pair ROLLBACK_COMPLETE" in ran.out
    assert "UPDATE_FAILED: Resource" in ran.out
    assert ids(run)["lamp"] == before["lamp"]


@pytest.mark.usefixtures("engine_at")
def test_a_deployment_that_fails_with_rollback_leaves_nothing(run: Run, pair: Path) -> None:
    assert run("deploy", "pair", "-t", pair, "-p", "fail=yes", "--rollback").code == codes.FAILED
    assert run("show", "pair", "--json").data["stack_status"] == "ROLLBACK_COMPLETE"
    assert ids(run) == {}


@pytest.mark.usefixtures("engine_at")
def test_rollback_asked_for(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    before = ids(run)
    run("update", "pair", "-t", pair, "-p", "fail=yes", "-p", "colour=blue")
    assert run("rollback", "pair").code == codes.OK
    assert run("show", "pair", "--json").data["stack_status"] == "ROLLBACK_COMPLETE"
    assert ids(run)["lamp"] == before["lamp"]


@pytest.mark.usefixtures("engine_at")
def test_delete(run: Run, pair: Path, home: Path) -> None:
    run("deploy", "pair", "-t", pair)
    stack_id = run("show", "pair", "--json").data["id"]
    assert run("delete", "pair").code == codes.USAGE
    assert run("delete", "pair", "--yes").code == codes.OK
    assert run("list", "--json").data == []
    assert run("show", "pair").code == codes.NOT_FOUND
    assert run("show", stack_id, "--json").data["stack_status"] == "DELETE_COMPLETE"
    journal = [json.loads(line) for line in (home / "reality.journal").read_text().splitlines()]
    assert len([entry for entry in journal if "token" not in entry]) == 2


@pytest.mark.usefixtures("engine_at")
def test_several_stacks_are_deleted_and_each_error_names_its_stack(run: Run, pair: Path) -> None:
    for name in ("one", "two", "kept"):
        assert run("deploy", name, "-t", pair).code == codes.OK
    run("protect", "kept")
    assert run("delete", "one", "two").code == codes.USAGE
    ran = run("delete", "one", "none", "kept", "two", "one", "--yes")
    assert ran.code == codes.NOT_FOUND, "the code of the first error"
    assert "error: none: The Stack (none) could not be found." in " ".join(ran.err.split())
    assert "error: kept: Stack kept is protected from delete" in " ".join(ran.err.split())
    assert [one["stack_name"] for one in run("list", "--json").data] == ["kept"]
    assert run("delete", "kept", "none", "--yes").code == codes.WRONG
    run("unprotect", "kept")
    assert run("delete", "kept", "--yes").code == codes.OK
    assert run("delete").code == codes.USAGE


@pytest.mark.usefixtures("engine_at")
def test_a_wrong_output_name_has_a_hint(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    names = [one["output_key"] for one in run("outputs", "pair", "--json").data]
    ran = run("outputs", "pair", f"{names[0]}x")
    assert (ran.code, f"did you mean {names[0]}?" in ran.err) == (codes.NOT_FOUND, True)


@pytest.mark.usefixtures("engine_at")
def test_check_finds_what_is_gone_and_an_update_makes_it_again(run: Run, pair: Path, home: Path) -> None:
    run("deploy", "pair", "-t", pair)
    assert run("check", "pair").code == codes.OK
    before = ids(run)
    with (home / "reality.journal").open("a") as journal:
        journal.write(json.dumps({"id": before["shade"]}) + "\n")
    ran = run("check", "pair")
    assert ran.code == codes.FAILED
    assert before["shade"] in ran.out
    assert run("update", "pair", "-t", pair).code == codes.OK
    after = ids(run)
    assert after["lamp"] == before["lamp"]
    assert after["shade"] != before["shade"]


def test_what_is_left_behind_is_told_and_taken_up(run: Run, pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the engine of the first command from starting, as if it was killed right after acceptance."""
    with monkeypatch.context() as killed:
        killed.setattr("isotherm.cli.client.embedded._drive", lambda *_: _ended())
        run("deploy", "pair", "-t", pair)
    said = run("list").out
    assert "CREATE_IN_PROGRESS" in said
    assert "isotherm work pair" in said
    assert run("work", "pair").code == codes.OK
    assert run("list", "--json").data[0]["stack_status"] == "CREATE_COMPLETE"


async def _ended() -> int:
    return codes.INTERRUPTED


def test_any_command_that_drives_takes_along_what_was_left(run: Run, pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr("isotherm.cli.client.embedded._drive", lambda *_: _ended())
        run("deploy", "one", "-t", pair)
    run("deploy", "two", "-t", pair)
    assert {s["stack_status"] for s in run("list", "--json").data} == {"CREATE_COMPLETE"}


def test_cancel_stays_where_it_is_or_goes_back(run: Run, pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, option, expected in (("stays", ["--no-rollback"], "CREATE_FAILED"), ("goes", [], "ROLLBACK_COMPLETE")):
        with monkeypatch.context() as killed:
            killed.setattr("isotherm.cli.client.embedded._drive", lambda *_: _ended())
            run("deploy", name, "-t", pair)
        run("cancel", name, *option)
        assert run("show", name, "--json").data["stack_status"] == expected
        assert ids(run, name) == {} or option


@pytest.mark.usefixtures("engine_at")
def test_cancel_of_nothing_is_refused(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    ran = run("cancel", "pair")
    assert ran.code == codes.WRONG
    assert "Nothing is running" in ran.err


@pytest.mark.usefixtures("engine_at")
def test_a_name_is_taken_once_and_unknown_names_are_told(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    ran = run("deploy", "pair", "-t", pair)
    assert ran.code == codes.CONFLICT
    assert "already exists" in ran.err
    assert run("update", "nobody", "-t", pair).code == codes.NOT_FOUND
    assert run("watch", "nobody").code == codes.NOT_FOUND


def test_a_mistake_in_the_template_is_told_with_its_place_and_nothing_is_made(run: Run, tmp_path: Path) -> None:
    ran = run("deploy", "broken", "-t", EXAMPLES / "broken.yaml")
    assert ran.code == codes.WRONG
    assert "broken.yaml:14:7: error:" in ran.err
    assert run("list", "--json").data == []


@pytest.mark.usefixtures("engine_at")
def test_events_outputs_and_the_value_of_one(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    assert [e["resource_name"] for e in run("events", "pair", "--json").data] == ["", "lamp", "lamp", "shade", "shade", ""]
    assert [e["resource_name"] for e in run("events", "pair", "--last", "2", "--json").data] == ["shade", ""]
    assert run("outputs", "pair", "lamp").out.strip() == ids(run)["lamp"]
    assert run("outputs", "pair", "facts").out.strip() == '{"colour":"red"}'
    assert run("outputs", "pair", "nothing").code == codes.NOT_FOUND


@pytest.mark.usefixtures("engine_at")
def test_the_graph_as_a_tree_and_for_graphviz(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    drawn = run("graph", "pair").out.splitlines()
    assert drawn[1].startswith("✓ lamp")
    assert drawn[2].startswith("└─ ✓ shade")
    assert '"lamp" -> "shade";' in run("graph", "pair", "--dot").out
    assert [node["requires"] for node in run("graph", "pair", "--json").data] == [[], ["lamp"]]


@pytest.mark.usefixtures("engine_at")
def test_a_plan_of_an_update_tells_causes_and_masks_secrets(run: Run, pair: Path) -> None:
    run("deploy", "pair", "-t", pair)
    items = {i["resource_name"]: i for i in run("plan", "pair", "-t", pair, "-p", "length=9", "--json").data["resources"]}
    assert (items["lamp"]["action"], items["lamp"]["cause"]) == ("replace", "name_len")
    assert items["lamp"]["changes"] == {"name_len": {"from": 8, "to": 9}}
    assert not items["shade"]["certain"]
    ran = run("plan", "pair", "-t", pair, "-p", "colour=green")
    assert "1 without change, 1 to update in place" in ran.out
    assert "hush" not in ran.out
    assert run("plan", "pair", "-t", pair).out.strip() == "pair: 2 without change"


@pytest.mark.usefixtures("engine_at")
def test_secrets_are_in_no_answer(run: Run, pair: Path, home: Path) -> None:
    said = run("deploy", "pair", "-t", pair, "-p", "secret=tell-nobody").out
    said += run("show", "pair", "--json").out + run("resources", "pair", "--json").out + run("events", "pair").out
    assert "tell-nobody" not in said


@pytest.mark.usefixtures("engine_at")
def test_converge_makes_again_what_is_gone(run: Run, pair: Path, home: Path) -> None:
    def ids() -> dict[str, str]:
        return {one["resource_name"]: one["physical_resource_id"] for one in run("resources", "pair", "--json").data}

    assert run("deploy", "pair", "-t", pair).code == codes.OK
    for command in (("converge", "pair"), ("update", "pair", "--converge")):
        before = ids()
        with contextlib.closing(JournalReality(home / "reality.journal")) as reality:
            assert asyncio.run(reality.delete(before["shade"]))
        assert run(*command).code == codes.OK
        assert ids()["shade"] != before["shade"]
        assert ids()["lamp"] == before["lamp"]
