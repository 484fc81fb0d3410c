"""`isotherm why` and `isotherm timeline`."""

from __future__ import annotations

from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("engine_at")

TEXT = """heat_template_version: 2021-04-16
resources:
  first: {type: OS::Heat::TestResource}
  bad: {type: OS::Heat::TestResource, depends_on: first, properties: {fail: true}}
  after: {type: OS::Heat::TestResource, depends_on: bad}
"""


@pytest.fixture
def failed(tmp_path: Path, run: Run) -> str:
    (tmp_path / "t.yaml").write_text(TEXT)
    assert run("deploy", "web", "-t", tmp_path / "t.yaml").code == codes.FAILED
    return "web"


def test_why_names_the_cause(failed: str, run: Run) -> None:
    ran = run("why", failed, "after")
    assert ran.code == codes.OK
    assert ran.out.startswith("after was left out because of bad, which failed")
    found = run("why", failed, "bad", "--json").data
    assert [one["name"] for one in found["chain"]] == ["bad"]
    assert (found["resource"]["line"], found["attempts"][0]["status"]) == (4, "FAILED")


def test_why_of_nothing(failed: str, run: Run) -> None:
    assert run("why", failed, "none").code == codes.NOT_FOUND
    assert run("why", "none", "bad").code == codes.NOT_FOUND


def test_the_timeline_shows_the_critical_path(failed: str, run: Run) -> None:
    ran = run("timeline", failed)
    assert ran.code == codes.OK
    assert "create, generation 1: failed" in ran.out
    lines = [line.split() for line in ran.out.splitlines() if line.startswith("*")]
    assert [line[1] for line in lines] == ["first", "bad"]
    found = run("timeline", failed, "--json").data
    assert [(span[0], span[7]) for span in found["spans"]] == [("first", "COMPLETE"), ("bad", "FAILED")]
    assert run("timeline", failed, "--generation", "1", "--json").data["operation"]["generation"] == 1
    assert run("timeline", failed, "--generation", "7").code == codes.USAGE
    assert run("timeline", failed, "--limit", "1", "--json").data["left_out"] == 1
