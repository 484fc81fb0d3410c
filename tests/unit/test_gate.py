"""`make test` says loudly which databases it could not test on, and in CI it fails then."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tools import gate, services


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ordinary steps, and no services to be had."""

    @contextmanager
    def running(names: list[str]) -> Iterator[None]:
        raise services.Impossible(f"no {names[0]} here")
        yield

    monkeypatch.setattr(gate, "steps", lambda *_: [])
    monkeypatch.setattr(services, "running", running)
    monkeypatch.delenv("CI", raising=False)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["gate.py", *arguments])
    return gate.main()


@pytest.mark.parametrize("ci", [False, True])
def test_what_cannot_be_tested_is_told(
    nothing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: Any
) -> None:
    if ci:
        monkeypatch.setenv("CI", "true")
    assert run(monkeypatch, "test") == int(ci)
    told = capsys.readouterr().out
    for server in gate.SERVERS:
        assert f"NOT TESTED ON {server.upper()}: no {server} here" in told
    last = told.splitlines()[-1]
    assert "postgresql" in last and "mariadb" in last
    assert last.startswith("make test: FAILED" if ci else "make test: passed")


@pytest.mark.parametrize("arguments", [("check",), ("quick",), ("test", "-k", "plan")])
def test_servers_are_for_whole_runs_only(
    nothing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: Any
) -> None:
    assert run(monkeypatch, *arguments) == 0
    assert "NOT TESTED" not in capsys.readouterr().out


def test_every_folder_of_tests_runs_once() -> None:
    """The part that is traced for coverage, and the rest: together all of them, none twice."""
    paths = [part for step in gate.steps("test", "0", []) for part in step.command if part.startswith("tests/")]
    folders = {f"tests/{path.parent.name}" for path in (gate.ROOT / "tests").glob("*/test_*.py")}
    assert len(paths) == len(set(paths)) and folders <= set(paths)


def test_the_long_form_is_told_to_the_tests(
    nothing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ISOTHERM_TEST_ALL", "")
    assert run(monkeypatch, "test-all") == 0
    assert os.environ["ISOTHERM_TEST_ALL"] == "1"
    assert capsys.readouterr().out.count("NOT TESTED ON") == len(gate.SERVERS)
