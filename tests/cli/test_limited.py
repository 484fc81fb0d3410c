"""`--target`, `--exclude` and `isotherm retry` at the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("engine_at")

TEMPLATE = """
heat_template_version: 2018-08-31
resources:
  net:
    type: OS::Heat::TestResource
    properties: {value: VALUE}
  server:
    type: OS::Heat::TestResource
    properties: {value: VALUE}
    depends_on: net
  database:
    type: OS::Heat::TestResource
    properties: {value: VALUE}
"""


@pytest.fixture
def newer(tmp_path: Path, run: Run) -> Path:
    """Deploy a stack; return a template that changes all of it."""
    file = tmp_path / "site.yaml"
    file.write_text(TEMPLATE.replace("VALUE", "one"))
    assert run("deploy", "web", "-t", file).code == codes.OK
    file.write_text(TEMPLATE.replace("VALUE", "two"))
    return file


def left_out(run: Run) -> list[str]:
    found: list[str] = run("show", "web", "--json").data["left_out"]
    return found


def test_a_target_is_planned_updated_and_finished_later(run: Run, newer: Path) -> None:
    planned = run("plan", "web", "-t", newer, "--target", "server")
    assert planned.code == codes.OK
    assert "web: 2 to update in place, 1 without change" in planned.out
    assert "Left out: database." in planned.out
    assert run("update", "web", "-t", newer, "--target", "server").code == codes.OK
    assert left_out(run) == ["database"]
    assert "database waits. To finish: isotherm retry web" in run("show", "web").out
    assert run("retry", "web").code == codes.OK
    assert left_out(run) == []


def test_apply_excludes_and_retry_takes_names(run: Run, newer: Path) -> None:
    assert run("apply", "web", "-t", newer, "--exclude", "net", "--yes").code == codes.OK
    assert left_out(run) == ["net", "server"]
    assert run("retry", "web", "net").code == codes.OK
    assert left_out(run) == ["server"]
    assert run("retry", "web", "nobody").code == codes.NOT_FOUND


def test_a_saved_plan_keeps_its_targets(run: Run, newer: Path, tmp_path: Path) -> None:
    saved = tmp_path / "web.plan"
    assert run("plan", "web", "-t", newer, "--target", "net", "--out", saved).code == codes.OK
    assert run("apply", saved, "--target", "server").code == codes.USAGE
    assert run("apply", saved).code == codes.OK
    assert left_out(run) == ["database", "server"]


def test_apply_creates_a_part_of_a_new_stack(run: Run, newer: Path) -> None:
    assert run("apply", "other", "-t", newer, "--target", "net", "--yes").code == codes.OK
    names = [one["resource_name"] for one in run("resources", "other", "--json").data]
    assert names == ["net"]
