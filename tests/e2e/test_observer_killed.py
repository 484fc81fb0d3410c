"""The observer is killed and started again while it has things repaired: nothing is lost, nothing is repaired twice."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.long_form import ALL

# Each of the moments, several times.
KILLS = 50 if ALL else 20
PATIENCE_S = 240.0
NURSERY = Path(__file__).with_name("nursery.py")
OPTIONS = "[DEFAULT]\nobserver_interval = 0.1\nobserver_rate = 0\n"


class Nursery:
    """Forks services: dozens of them are started within the time that one takes to import everything."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._living: list[int] = []

    def start(self, command: str) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(command, file=self._process.stdin, flush=True)
        number = int(self._process.stdout.readline())
        self._living.append(number)
        return number

    def kill(self, number: int) -> None:
        os.kill(number, signal.SIGKILL)
        self._living.remove(number)

    def end(self) -> None:
        for number in list(self._living):
            self.kill(number)


@contextlib.contextmanager
def nursery(home: Any) -> Iterator[Nursery]:
    with subprocess.Popen([sys.executable, str(NURSERY)], env=home.environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        made = Nursery(process)
        try:
            yield made
        finally:
            made.end()


# How far the observer comes with a file that was deleted before it is killed: it is at work, it has taken the stack, it has
# said that something drifted, it has asked for the repair, the repair has ended.
MOMENTS = (
    "SELECT 1 FROM observers WHERE name LIKE '{pid}-%'",
    "SELECT 1 FROM watches WHERE worker LIKE '{pid}-%'",
    "SELECT 1 FROM repairs WHERE name = '{file}'",
    "SELECT 1 FROM repairs WHERE name = '{file}' AND rounds > 0",
    "SELECT 1 FROM repairs, stacks WHERE repairs.name = '{file}' AND rounds > 0 AND stacks.status = 2",
)


def wait_for(database: sqlite3.Connection, query: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while database.execute(query).fetchone() is None:
        assert time.monotonic() < end, query
        time.sleep(0.005)


@pytest.mark.ledger("S1.5")
def test_nothing_is_lost_and_nothing_is_repaired_twice(home: Any, tmp_path: Path) -> None:
    """Files are deleted one after the other, and each time the observer is killed, sooner or later after that. The next
    file is deleted, and the next observer killed, without waiting for the repair."""
    home.folder.mkdir(parents=True)
    (home.folder / "isotherm.conf").write_text(OPTIONS)
    lines = [f"  f{n}: {{type: Isotherm::Local::File, properties: {{path: f{n}, content: c{n}}}}}" for n in range(KILLS)]
    (tmp_path / "t.yaml").write_text("\n".join(["heat_template_version: 2021-04-16", "resources:", *lines, ""]))
    assert home.run("deploy", "s", "-t", tmp_path / "t.yaml")[0] == 0
    home.ask("drift", "s", "--policy", "repair")
    chance = random.Random(7)
    database = sqlite3.connect(home.folder / "isotherm.db", timeout=10)
    with nursery(home) as born, contextlib.closing(database):
        born.start("engine")
        for number in range(KILLS):
            (home.folder / "local" / f"f{number}").unlink()
            observer = born.start("observer")
            wait_for(database, MOMENTS[number % len(MOMENTS)].format(pid=observer, file=f"f{number}"))
            time.sleep(chance.random() * 0.02)
            born.kill(observer)
        born.start("observer")
        end = time.monotonic() + PATIENCE_S
        while (told := home.ask("drift", "s", "--all"))["counts"]["in_sync"] < KILLS:
            assert time.monotonic() < end, told
        made = Counter(database.execute("SELECT name FROM events WHERE name != '' AND action = 1 AND status = 1"))
    places = [home.folder / "local" / f"f{n}" for n in range(KILLS)]
    assert [place.read_text() for place in places] == [f"c{n}" for n in range(KILLS)], "nothing is lost"
    assert {one["resource_name"]: one["repairs"] for one in told["resources"]} == {f"f{n}": 1 for n in range(KILLS)}
    assert set(made.values()) == {2}, "each was made once, and once more"
    assert home.ask("show", "s")["stack_status"] == "UPDATE_COMPLETE"
