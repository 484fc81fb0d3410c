"""A home that cannot be used is told so, in one sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from isotherm.cli import codes
from tests.e2e.conftest import Home
from tools.services import processes


def test_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    code, out = Home(tmp_path / "home").run("list")
    assert code == codes.WRONG
    assert "ISOTHERM_HOME" in out


def test_something_else_than_a_database(home: Home) -> None:
    home.folder.mkdir()
    (home.folder / "isotherm.db").write_bytes(b"no database" * 1000)
    code, out = home.run("list")
    assert code == codes.WRONG
    assert "file is not a database" in out


def test_a_server_that_does_not_run(home: Home) -> None:
    home.folder.mkdir()
    (port,) = processes.free_ports(1)
    (home.folder / "isotherm.conf").write_text(f"[database]\nconnection = postgresql://me:secret@127.0.0.1:{port}/mine\n")
    code, out = home.run("list")
    assert code == codes.WRONG
    assert "Does the server run at 127.0.0.1" in out
    assert "secret" not in out


def test_a_database_of_a_newer_version(home: Home) -> None:
    home.run("list")
    with sqlite3.connect(home.folder / "isotherm.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    code, out = home.run("list")
    assert code == codes.WRONG
    assert "newer version" in out
