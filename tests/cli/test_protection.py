"""Protecting and forgetting on the command line."""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from tests.cli.conftest import HERE, Run

pytestmark = pytest.mark.usefixtures("engine_at")

PAIR = """heat_template_version: 2018-08-31
resources:
  db: {type: OS::Heat::Dummy, properties: {max_wait_secs: 0.05}}
  web: {type: OS::Heat::Dummy, properties: {max_wait_secs: 0.05}}
"""


@pytest.fixture
def by(engine_at: str) -> str:
    """Return the words for the user: that of this machine, or the one of a standalone service."""
    return f"user {getpass.getuser()}" if engine_at == HERE else "user isotherm"


@pytest.fixture
def file(tmp_path: Path, run: Run) -> Path:
    found = tmp_path / "pair.yaml"
    found.write_text(PAIR)
    assert run("deploy", "pair", "-t", found).code == 0
    return found


def test_a_stack_is_protected_and_unprotected(run: Run, file: Path, by: str) -> None:
    assert run("protect", "pair").out == f"Stack pair is protected from delete by {by}.\n"
    refused = run("delete", "pair", "--yes")
    assert refused.code != 0
    assert "`isotherm unprotect pair` lifts the protection." in " ".join(refused.err.split())
    assert "Stack pair is protected from delete" in run("show", "pair").out
    assert run("show", "pair", "--json").data["protection"]["protected"] is True
    assert run("unprotect", "pair").out == "Nothing of stack pair is protected.\n"
    assert run("delete", "pair", "--yes").code == 0


def test_a_resource_is_protected_and_unprotected(run: Run, file: Path, by: str) -> None:
    shown = run("protect", "pair", "db", "--from", "replace", "--from", "delete").out
    assert "db" in shown and "replace, delete" in shown
    file.write_text(PAIR.replace("  db:", "  other:"))
    plan = run("plan", "pair", "-t", file).out
    assert f"refused: protected from delete by {by}" in " ".join(plan.split())
    failed = run("update", "pair", "-t", file)
    assert failed.code != 0
    assert "is protected from delete" in " ".join((failed.out + failed.err).split())
    assert run("protect", "pair", "--from", "all").code == 2, "stacks are protected from delete only"
    assert run("unprotect", "pair", "db", "--json").data["resources"] == []
    assert run("update", "pair", "-t", file).code == 0


def test_a_resource_is_forgotten_and_then_the_stack(run: Run, file: Path) -> None:
    assert run("forget", "pair", "db").code == 2, "without a terminal, --yes is needed"
    assert run("forget", "pair", "db", "--yes").code == 0
    shown = run("show", "pair", "--json").data
    assert [one["resource_name"] for one in shown["retained"]] == ["db"]
    assert [one["resource_name"] for one in run("resources", "pair", "--json").data] == ["web"]
    assert run("forget", "pair", "--yes").code == 0
    assert run("list", "--json").data == []


def test_protections_leave_and_arrive_with_an_export_document(run: Run, file: Path, tmp_path: Path, by: str) -> None:
    assert run("protect", "pair", "db").code == 0
    document = tmp_path / "pair.json"
    assert run("abandon", "pair", "--yes", "--show-hidden", "-o", document).code == 0
    assert run("adopt", "again", document).code == 0
    found = run("show", "again", "--json").data["protection"]
    assert [(one["resource_name"], one["protect"]) for one in found["resources"]] == [("db", ["replace", "delete"])]
    refused = run("delete", "again", "--yes")
    assert refused.code != 0
    assert f"Resource db of stack again is protected from delete by {by}." in " ".join(refused.err.split())
