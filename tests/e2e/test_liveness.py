"""Liveness of processes: a lock shows it, and only the end of the process releases the lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from isotherm.engine.process import liveness

WORKER = """
import sys, time
from pathlib import Path
from isotherm.engine.process.liveness import ProcessLock
here = ProcessLock(Path(sys.argv[1]), "other")
print(here.join(), flush=True)
time.sleep(60)
"""


def test_stopped_is_not_dead_and_killed_is(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    other.stdout.readline()
    here = liveness.ProcessLock(tmp_path, "here")
    try:
        assert here.join() == []
        os.kill(other.pid, signal.SIGSTOP)
        here.leave()
        assert any(one.alive for one in liveness.list_locks(tmp_path))
        assert here.join() == []
        here.leave()
    finally:
        other.kill()
        other.communicate()
    assert not any(one.alive for one in liveness.list_locks(tmp_path))
    assert here.join() == ["other"]
    here.forget(["other"])
    assert liveness.ProcessLock(tmp_path, "third").join() == []


def test_a_process_that_left_is_not_dead(tmp_path: Path) -> None:
    one, two = liveness.ProcessLock(tmp_path, "one"), liveness.ProcessLock(tmp_path, "two")
    one.join()
    one.leave()
    assert two.join() == []
