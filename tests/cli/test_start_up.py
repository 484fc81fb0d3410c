"""The start-up message of services says where the stacks are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isotherm.cli.service import serve
from isotherm.cli.show import console
from isotherm.config import Settings

SERVER = Settings(auth_strategy="keystone", database_connection="postgresql://isotherm:MARKER@db/isotherm")


def test_it_names_the_database_without_the_password(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    serve.announce_process(console.Printer(), "engine", SERVER)
    serve.announce_api(console.Printer(), home, SERVER, "http://[::1]:8004")
    said = capsys.readouterr().out
    assert said.count("Database: postgresql") == said.count("isotherm:***@db/isotherm") == 2
    assert "MARKER" not in said


def test_programs_get_it_too(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printer = console.Printer()
    printer.as_json = True
    serve.announce_process(printer, "observer", Settings())
    assert json.loads(capsys.readouterr().out) == {"folder": str(home), "database": f"sqlite:///{home / 'isotherm.db'}"}
