"""The life of a stack on the command line: suspend, snapshots, export documents, partial updates."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Ran, Run

pytestmark = pytest.mark.usefixtures("engine_at")

TEMPLATE = """
heat_template_version: 2018-08-31
parameters:
  colour: {type: string, default: red}
  secret: {type: string, hidden: true, default: hush}
resources:
  lamp:
    type: OS::Heat::TestResource
    properties: {value: {get_param: colour}}
  word: {type: OS::Heat::RandomString}
outputs:
  colour: {value: {get_attr: [lamp, output]}}
  word: {value: {get_attr: [word, value]}}
"""


@pytest.fixture
def lamp(tmp_path: Path, run: Run) -> Path:
    file = tmp_path / "lamp.yaml"
    file.write_text(TEMPLATE)
    assert run("deploy", "lamp", "-t", file, "-p", "colour=blue", "-p", "secret=a-marker").code == codes.OK
    return file


def status(run: Run, name: str = "lamp") -> str:
    return str(run("show", name, "--json").data["stack_status"])


def output(run: Run, name: str, stack: str = "lamp") -> Any:
    return {one["output_key"]: one["output_value"] for one in run("outputs", stack, "--json").data}[name]


def last(ran: Ran) -> Any:
    return json.loads(ran.out.splitlines()[-1])


@pytest.mark.ledger("S2.4")
@pytest.mark.usefixtures("lamp")
def test_suspend_and_resume(run: Run) -> None:
    assert run("suspend", "lamp").code == codes.OK
    assert status(run) == "SUSPEND_COMPLETE"
    refused = run("update", "lamp", "-p", "colour=green")
    assert refused.code == codes.WRONG
    assert "Updating a stack when it is suspended is not supported" in refused.err
    assert "Resume it first" in refused.err
    assert last(run("resume", "lamp", "--json"))["stack"]["stack_status"] == "RESUME_COMPLETE"


@pytest.mark.ledger("S2.4")
def test_snapshots(run: Run, lamp: Path) -> None:
    assert run("snapshot", "create", "lamp", "blue").code == codes.OK
    assert run("update", "lamp", "-t", lamp).code == codes.OK
    assert output(run, "colour") == "red"
    listed = run("snapshot", "list", "lamp", "--json").data
    assert [(one["name"], one["status"]) for one in listed] == [("blue", "COMPLETE")]
    assert "CREATE_COMPLETE" in run("snapshot", "list", "lamp").out
    shown = run("snapshot", "show", "lamp", "blue", "--json")
    assert "a-marker" not in shown.out
    assert shown.data["data"]["environment"]["parameters"]["secret"] == "******"
    assert "OS::Heat::TestResource" in run("snapshot", "show", "lamp", listed[0]["id"]).out
    assert run("restore", "lamp", "blue").code == codes.OK
    assert (status(run), output(run, "colour")) == ("RESTORE_COMPLETE", "blue")
    assert run("snapshot", "delete", "lamp", "blue", "--json").data == {"deleted": True, "snapshot": None}
    assert run("snapshot", "list", "lamp", "--json").data == []
    assert run("snapshot", "show", "lamp", "blue").code == codes.NOT_FOUND


@pytest.mark.ledger("S2.4")
@pytest.mark.usefixtures("lamp")
def test_a_stack_gets_another_name_by_export_and_adoption(run: Run, tmp_path: Path) -> None:
    refused = run("rename", "lamp", "light")
    assert refused.code == codes.USAGE
    assert "isotherm adopt NEW FILE" in refused.err
    before, word = run("resources", "lamp", "--json").data, output(run, "word")
    assert "a-marker" not in run("export", "lamp").out
    assert run("abandon", "lamp").code == codes.USAGE, "nobody was asked"
    exported = tmp_path / "papers.json"
    assert run("abandon", "lamp", "--yes", "--show-hidden", "-o", exported).code == codes.OK
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
    assert run("show", "lamp").code == codes.NOT_FOUND
    adopted = run("adopt", "light", exported, "--tags", "a,b", "--json")
    assert adopted.code == codes.OK
    assert last(adopted)["stack"]["stack_status"] == "ADOPT_COMPLETE"
    after = run("resources", "light", "--json").data
    assert [one["physical_resource_id"] for one in after] == [one["physical_resource_id"] for one in before]
    assert (output(run, "word", "light"), output(run, "colour", "light")) == (word, "blue")
    assert run("adopt", "again", exported).code == codes.CONFLICT


@pytest.mark.usefixtures("lamp")
def test_a_bad_export_document(run: Run, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"template": 3}')
    ran = run("adopt", "t", wrong)
    assert ran.code == codes.WRONG
    assert "Invalid adopt data" in ran.err


def test_only_what_changes(run: Run, lamp: Path, tmp_path: Path) -> None:
    assert run("update", "lamp", "--existing", "-t", lamp).code == codes.OK
    assert output(run, "colour") == "blue"
    assert run("update", "lamp", "-p", "colour=green", "--tags", "t").code == codes.OK
    assert output(run, "colour") == "green"
    assert run("show", "lamp", "--json").data["tags"] == ["t"]
    environment = tmp_path / "env.yaml"
    environment.write_text("parameters: {colour: white}")
    assert run("update", "lamp", "-e", environment).code == codes.OK
    assert output(run, "colour") == "white"
    assert run("update", "lamp", "--clear-parameter", "colour").code == codes.OK
    assert output(run, "colour") == "red"
    ran = run("update", "lamp", "-p", "color=green")
    assert ran.code == codes.WRONG
    assert "The Parameter (color) was not defined in template." in ran.err
    exported = run("export", "lamp", "--show-hidden").data
    assert exported["environment"]["parameters"] == {"secret": "a-marker"}, "what was not mentioned stayed"
