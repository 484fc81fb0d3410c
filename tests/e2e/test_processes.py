"""Several commands at once, interrupted ones and killed ones, as processes of their own."""

from __future__ import annotations

import signal
import sqlite3
import time
from pathlib import Path

import pytest

from isotherm.cli import codes
from tests.e2e.conftest import Home

CHAIN = """
heat_template_version: 2018-08-31
parameters: {wait: {type: number, default: 0.2}}
resources:
""" + "".join(f"""
  r{number}:
    type: OS::Heat::Dummy
    {f"depends_on: r{number - 1}" if number else ""}
    properties: {{max_wait_secs: {{get_param: wait}}}}
""" for number in range(5))


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    file = tmp_path / "chain.yaml"
    file.write_text(CHAIN)
    return file


@pytest.mark.ledger("S0.4")
def test_ctrl_c_leaves_a_stack_that_goes_on(home: Home, chain: Path) -> None:
    process = home.start("deploy", "chain", "-t", chain, "-p", "wait=1")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == codes.INTERRUPTED
    assert "isotherm work chain" in out
    assert list((home.folder / "workers").glob("*.lock")) == []
    code, out = home.run("work", "chain")
    assert code == codes.OK, out
    assert len(home.made()) == 5


@pytest.mark.ledger("S2.6", "S2.12")
def test_two_commands_on_one_home(home: Home, chain: Path) -> None:
    first, second = home.start("deploy", "one", "-t", chain), home.start("deploy", "two", "-t", chain)
    for process in (first, second):
        out, _ = process.communicate(timeout=240)
        assert process.returncode == codes.OK, out
    assert len(home.made()) == 10


@pytest.mark.ledger("S2.6", "S2.12")
def test_a_second_command_takes_over_a_stack_and_the_first_one_says_so(home: Home, chain: Path) -> None:
    first = home.start("deploy", "one", "-t", chain, "-p", "wait=8")
    assert first.stdout is not None
    first.stdout.readline()
    code, out = home.run("update", "one", "-t", chain, "-p", "wait=0.1")
    assert code == codes.OK, out
    out, _ = first.communicate(timeout=240)
    assert first.returncode == codes.FAILED
    assert "Another operation superseded this one" in out
    assert len(home.made()) == 5


@pytest.mark.ledger("S0.4")
def test_what_a_killed_command_held_is_free_at_once(home: Home, chain: Path) -> None:
    """Its leases would last for half a minute; the locks of the workers make them free at once."""
    process = home.start("deploy", "chain", "-t", chain)
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.communicate()
    # Let the command hold as many leases as possible.
    with sqlite3.connect(home.folder / "isotherm.db") as database:
        worker = next((home.folder / "workers").glob("*.lock")).stem
        database.execute("UPDATE nodes SET state = 2, worker = ?, lease_until = ?, due = ? WHERE state IN (1, 2, 3)",
                         [worker, time.time() + 1000, time.time() + 1000])
    database.close()
    code, out = home.run("work", "chain", timeout_s=40)
    assert code == codes.OK, out


def test_reading_does_not_wait_for_a_writer(home: Home, chain: Path) -> None:
    home.run("deploy", "chain", "-t", chain)
    writer = sqlite3.connect(home.folder / "isotherm.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        code, out = home.run("list", timeout_s=30)
    finally:
        writer.close()
    assert code == codes.OK, out


def test_a_second_interrupt_ends_at_once_and_without_a_complaint(home: Home, chain: Path) -> None:
    process = home.start("deploy", "chain", "-t", chain, "-p", "wait=1")
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == codes.INTERRUPTED
    assert "Traceback" not in out
    code, out = home.run("work", "chain")
    assert code == codes.OK, out
