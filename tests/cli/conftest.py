"""Running the command line as a user does: arguments in, exit code and two streams out.

A module whose tests hold near and far uses the fixture `engine_at`: they run on the embedded engine, and against a service.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from isotherm.cli import main
from tests.cli.service import Service

HERE, SERVICE = "here", "service"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a home of its own: that of the command or, in tests of a service, that of the service."""
    folder = tmp_path / "home"
    monkeypatch.setenv("ISOTHERM_HOME", str(folder))
    monkeypatch.delenv("ISOTHERM_REMOTE", raising=False)
    return folder


@pytest.fixture(params=[HERE, pytest.param(SERVICE, marks=pytest.mark.service)])
def engine_at(request: pytest.FixtureRequest, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run commands with the engine on the home, and with that of a service on the home. The latter has no home."""
    if request.param == HERE:
        yield HERE
        return
    home.mkdir(exist_ok=True)
    (home / "isotherm.conf").write_text("[DEFAULT]\nenable_stack_abandon = true\nenable_stack_adopt = true\n")
    service = Service(home)
    with service.running():
        monkeypatch.setenv("ISOTHERM_HOME", str(tmp_path / "elsewhere"))
        monkeypatch.setenv("ISOTHERM_REMOTE", service.url)
        monkeypatch.setenv("ISOTHERM_REMOTE_TOKEN", service.token)
        yield SERVICE
    assert not (tmp_path / "elsewhere" / "isotherm.db").exists()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> Ran:
        code = main.main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return command
