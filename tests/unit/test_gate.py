"""`make test` says loudly which databases it could not test on, and in CI it fails then."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools import cloud, gate, services


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No ordinary steps, and no services to be had."""

    def no_cloud() -> None:
        raise services.Impossible("no cloud here")

    @contextmanager
    def running(names: list[str]) -> Iterator[None]:
        if names:
            raise services.Impossible(f"no {names[0]} here")
        yield

    monkeypatch.setattr(gate, "steps", lambda *_: [])
    monkeypatch.setattr(gate, "checks", lambda *_: [])
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(services, "running", running)
    monkeypatch.setattr(cloud, "running", no_cloud)
    monkeypatch.delenv(gate.CLOUD, raising=False)
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
    assert "postgresql" in last and "mariadb" in last and "a cloud" in last
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
    assert capsys.readouterr().out.count("NOT TESTED ON") == len(gate.SERVERS) + 1


def test_a_failed_step_does_not_hide_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    ways = {"good": "pass", "bad": "raise SystemExit('it is broken')"}
    steps = [gate.Step(name, [sys.executable, "-c", text]) for name, text in ways.items()]
    assert gate.together(steps) == {"good": True, "bad": False}
    told = capsys.readouterr().out
    assert "it is broken" in told and "FAILED" in told


@pytest.mark.parametrize(("jobs", "share", "expected"), [
    ("0", 2, []), ("3", 2, ["-n", "3"]), ("auto", 1, ["-n", "2"]), ("auto", 1.5, ["-n", "3"]), ("auto", 9, ["-n", "8"])])
def test_tests_that_wait_get_more_workers(
    monkeypatch: pytest.MonkeyPatch, jobs: str, share: float, expected: list[str]
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert gate.workers(jobs, share)[:2] == expected


def test_temporary_files_are_in_memory_only_where_programs_run_from_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gate, "MEMORY", tmp_path)
    there = os.statvfs(tmp_path)
    monkeypatch.setattr(gate, "MEMORY_BYTES", 0)
    monkeypatch.setattr(os, "statvfs", lambda _: _Space(there.f_bavail, there.f_frsize, 0))
    found = gate.scratch()
    assert found is not None and found.parent == tmp_path and found.stat().st_mode & 0o777 == 0o711
    monkeypatch.setattr(os, "statvfs", lambda _: _Space(there.f_bavail, there.f_frsize, os.ST_NOEXEC))
    assert gate.scratch() is None
    monkeypatch.setattr(os, "statvfs", lambda _: _Space(0, there.f_frsize, 0))
    monkeypatch.setattr(gate, "MEMORY_BYTES", 1)
    assert gate.scratch() is None
    monkeypatch.setattr(gate, "MEMORY", tmp_path / "missing")
    assert gate.scratch() is None


class _Space(NamedTuple):
    """The fields of `os.statvfs` that matter."""

    f_bavail: int
    f_frsize: int
    f_flag: int


def test_a_whole_run_has_the_short_form_on_a_cloud_that_ends_with_it(
    nothing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    events: list[str] = []

    @contextmanager
    def running() -> Iterator[Path]:
        events.append("started")
        yield tmp_path
        events.append("ended")

    def together(wanted: list[gate.Step]) -> dict[str, bool]:
        for step in wanted:
            folder = step.environment.get(gate.CLOUD)
            events.append(f"{step.name} {step.command[step.command.index('-m', 3) + 1]} {folder}")
        return {step.name: True for step in wanted}

    monkeypatch.setattr(cloud, "running", running)
    monkeypatch.setattr(gate, "together", together)
    monkeypatch.delenv(gate.CLOUD, raising=False)
    assert run(monkeypatch, "test") == 0
    assert events == ["started", f"cloud cloud and short {tmp_path}", "ended"]
    assert "the short form only" in capsys.readouterr().out
    monkeypatch.setenv(gate.CLOUD, "a-folder")
    assert run(monkeypatch, "test-all") == 0
    assert events[3:] == ["cloud cloud a-folder"]


@pytest.mark.parametrize("ci", [False, True])
def test_a_cloud_that_does_not_start_is_told(
    nothing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: Any
) -> None:
    def running() -> None:
        raise OSError("no room here")

    monkeypatch.setattr(cloud, "running", running)
    if ci:
        monkeypatch.setenv("CI", "true")
    assert run(monkeypatch, "test") == int(ci)
    assert "NOT TESTED ON A CLOUD: no room here" in capsys.readouterr().out


def test_without_a_cloud_the_tests_on_it_fail(
    nothing: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "test-cloud") == 1
    assert "NOT TESTED ON A CLOUD: no cloud here" in capsys.readouterr().out
