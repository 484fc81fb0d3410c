"""The observer is killed and started again while it has things repaired: nothing is lost, nothing is repaired twice."""

from __future__ import annotations

import random
import signal
import subprocess
import time

import pytest

KILLS = 10
PATIENCE_S = 120.0


def started(home, *arguments: object) -> subprocess.Popen[str]:
    """A service that has said that it is at work."""
    process = home.start(*arguments)
    assert process.stdout is not None and "Isotherm" in process.stdout.readline()
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    with process:
        process.wait()


@pytest.mark.ledger("S1.5")
def test_nothing_is_lost_and_nothing_is_repaired_twice(home, tmp_path):
    home.folder.mkdir(parents=True)
    (home.folder / "isotherm.conf").write_text("[DEFAULT]\nobserver_interval = 0.1\nobserver_rate = 0\n")
    lines = [f"  f{n}: {{type: Isotherm::Local::File, properties: {{path: f{n}, content: c{n}}}}}" for n in range(KILLS)]
    (tmp_path / "t.yaml").write_text("\n".join(["heat_template_version: 2021-04-16", "resources:", *lines, ""]))
    assert home.run("deploy", "s", "-t", tmp_path / "t.yaml")[0] == 0
    home.ask("drift", "s", "--policy", "repair")
    chance = random.Random(7)
    engine, observer = started(home, "engine"), started(home, "observer")
    try:
        for number in range(KILLS):
            place = home.folder / "local" / f"f{number}"
            place.unlink()
            time.sleep(chance.random() * 0.6)
            kill(observer)
            observer = started(home, "observer")
            end = time.monotonic() + PATIENCE_S
            while not place.exists():
                assert time.monotonic() < end, f"{place.name} was lost"
                time.sleep(0.05)
        end = time.monotonic() + PATIENCE_S
        while (told := home.ask("drift", "s", "--all"))["counts"]["in_sync"] < KILLS:
            assert time.monotonic() < end, told
    finally:
        kill(observer)
        kill(engine)
    assert {one["resource_name"]: one["repairs"] for one in told["resources"]} == {f"f{n}": 1 for n in range(KILLS)}
    assert home.ask("show", "s")["generation"] == 1 + KILLS, "one operation for each"
