"""Endless seeds: results come one by one, and an interrupt ends the run cleanly."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isotherm import errors
from isotherm.sim.seeds import many, players

ISOTHERM = [sys.executable, "-m", "isotherm.cli.main", "sim", "--soak", "--jobs", "2", "--json"]
PATIENCE_S = 240.0


def test_results_come_although_there_is_no_last_seed() -> None:
    found = list(itertools.islice(many.play(itertools.count(), jobs=2), 20))
    assert [one.seed for one in found] == list(range(20))
    assert not any(one.violations for one in found)


def test_a_dead_player_is_not_waited_for() -> None:
    with pytest.raises(errors.Bug, match="ended with code 3"):
        list(players.play(os._exit, itertools.repeat(3, 9), jobs=2))


def worked_s(pid: str) -> float:
    """Return the processor time of a process: after its imports, it is in the middle of a history."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_an_interrupted_soak_reports_its_findings() -> None:
    # Where the tests themselves run in the background of a shell, they are deaf to interrupts, and so are their children.
    with subprocess.Popen(ISOTHERM, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as soak:
        try:
            children, end = Path(f"/proc/{soak.pid}/task/{soak.pid}/children"), time.monotonic() + PATIENCE_S
            while len(found := children.read_text().split()) < 2 or not all(worked_s(one) > 0.5 for one in found):
                assert time.monotonic() < end
                time.sleep(0.05)
            os.killpg(soak.pid, signal.SIGINT)  # as a terminal does
            out, err = soak.communicate(timeout=PATIENCE_S)
        except BaseException:
            os.killpg(soak.pid, signal.SIGKILL)  # it would never end
            raise
    assert (soak.returncode, err) == (0, "interrupted\n")
    assert json.loads(out)["failed"] == []
