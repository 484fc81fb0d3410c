"""`scripts/services`: private services that really answer, are started once, and are ended by their own numbers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tools import services

ROOT = Path(__file__).resolve().parent.parent.parent


def command(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "scripts" / "services", *arguments, "--folder", folder], capture_output=True, text=True,
                          env={**os.environ, **environ}, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """All three, started by the command; left out, loudly, only where they cannot be had."""
    folder = tmp_path_factory.mktemp("services")
    done = command(folder, "up", "--no-sync")
    if done.returncode and "installed" in done.stderr:
        pytest.skip(f"NO SERVICES, SO NOT TESTED: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    yield folder
    assert command(folder, "down", "--forget").returncode == 0


def test_databases_take_connections_with_the_password_only(folder: Any) -> None:
    urls = json.loads(command(folder, "env", "--json").stdout)
    for name in ("POSTGRESQL", "MARIADB"):
        url = sa.make_url(urls[f"ISOTHERM_{name}_URL"])
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            assert connection.execute(sa.text("select 6 * 7")).scalar_one() == 42
        stranger = sa.create_engine(url.set(password="guessed"), poolclass=sa.NullPool)
        with pytest.raises(sa.exc.OperationalError):
            stranger.connect()


def test_the_broker_speaks_amqp(folder: Any) -> None:
    port = json.loads(command(folder, "status", "--json").stdout)["rabbitmq"]["port"]
    with socket.create_connection(("127.0.0.1", port), timeout=10) as broker:
        broker.sendall(b"AMQP\x00\x00\x09\x01")
        assert broker.recv(1) == b"\x01"  # a method frame: it begins the conversation


def test_a_second_up_changes_nothing(folder: Any) -> None:
    before = command(folder, "status", "--json").stdout
    assert command(folder, "up").returncode == 0
    assert command(folder, "status", "--json").stdout == before


def test_what_died_is_started_again_with_its_data(folder: Any) -> None:
    first = json.loads(command(folder, "status", "--json").stdout)["mariadb"]
    with sa.create_engine(first["url"], poolclass=sa.NullPool).begin() as connection:
        connection.execute(sa.text("create table kept (id int)"))
    os.kill(first["processes"][0]["pid"], 9)
    assert command(folder, "up", "mariadb").returncode == 0
    second = json.loads(command(folder, "status", "--json").stdout)["mariadb"]
    assert second["state"] == "up" and second["processes"] != first["processes"]
    with sa.create_engine(second["url"], poolclass=sa.NullPool).connect() as connection:
        assert connection.execute(sa.text("select count(*) from kept")).scalar_one() == 0


def test_services_end_with_the_process_that_uses_them(tmp_path: Path) -> None:
    code = ("import sys, time; from pathlib import Path; from tools import services\n"
            "with services.running(['mariadb'], Path(sys.argv[1])) as found:\n"
            "    print(found['mariadb'].processes[0].pid, flush=True); time.sleep(600)")
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True, cwd=ROOT) as user:
        assert user.stdout is not None
        pid = int(user.stdout.readline())
        user.kill()
    deadline = time.monotonic() + 120
    while Path(f"/proc/{pid}").exists() and services.began(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not services.began(pid)


def test_a_number_that_was_used_again_is_left_alone(tmp_path: Path) -> None:
    """What the file names has ended long ago, and a stranger has its number now: us."""
    (tmp_path / "running.json").write_text(json.dumps({"mariadb": {
        "name": "mariadb", "url": "", "port": 1, "folder": "", "log": "",
        "processes": [{"pid": os.getpid(), "began": "1"}]}}))
    assert services.Keeper(tmp_path).down(["mariadb"]) == ["mariadb"]


def test_what_cannot_be_installed_is_told(tmp_path: Path) -> None:
    """No programs anywhere: neither those of the services nor apt."""
    code = ("from tools.services import packages, keeper\n"
            "packages.is_installed = lambda service: False\n"
            f"try: keeper.Keeper(__import__('pathlib').Path({str(tmp_path)!r})).up(['mariadb'])\n"
            "except packages.Impossible as error: print(error)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT,
                          env={**os.environ, "PATH": str(tmp_path)})
    assert "mariadb-server is not installed" in done.stdout and "apt-get" in done.stdout
