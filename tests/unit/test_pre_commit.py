"""The hooks for git: they run what `make check` runs, from .venv, and know a good commit subject."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml

from tools import commit_subject, gate

ROOT = Path(__file__).resolve().parents[2]
[LOCAL] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]


def test_hooks_need_no_network() -> None:
    assert LOCAL["repo"] == "local"
    for hook in LOCAL["hooks"]:
        program = shlex.split(hook["entry"])[0]
        assert hook["language"] == "system" and program.startswith(".venv/bin/"), hook["id"]


def test_hooks_run_every_check() -> None:
    programs = {Path(shlex.split(hook["entry"])[0]).name for hook in LOCAL["hooks"]}
    assert {Path(step.command[0]).name for step in gate.CHECKS} <= programs


@pytest.mark.parametrize("subject", [
    "store: index resources by physical id", "api, cli: say which stack is meant", "Merge branch 'main'",
    "docs/plugins: " + "x" * 58])
def test_subjects_that_are_taken(subject: str) -> None:
    assert commit_subject.problem(subject) is None


@pytest.mark.parametrize("subject", ["", "Fix it", "store: " + "x" * 66, "store: index resources.", "store:"])
def test_subjects_that_are_refused(subject: str) -> None:
    assert commit_subject.problem(subject) is not None


def test_comments_of_git_are_not_the_subject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = tmp_path / "message"
    message.write_text("# Please enter the commit message\nstore: index resources\n")
    monkeypatch.setattr("sys.argv", ["commit_subject.py", str(message)])
    assert commit_subject.main() == 0
