"""The collector is calm in a process that asks for it, and does nothing when the process ends."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
from isotherm import collector
collector.tune()
assert gc.isenabled() and gc.get_threshold() == collector.THRESHOLDS and gc.get_freeze_count() > 1000
frozen = gc.get_freeze_count()
kept = [[] for _ in range(1000)]
collector.leave()
assert not gc.isenabled() and gc.get_freeze_count() > frozen + 1000
"""


def test_it_looks_seldom_and_not_at_what_was_imported() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
