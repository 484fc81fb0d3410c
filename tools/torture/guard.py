"""Waits until its starter ends, for any reason, and kills the processes that were reported to it.

    python -m tools.torture.guard

Standard input is a pipe whose other end the starter holds: one line for each process, with its pid and start time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from tools.services.processes import began

if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        pid, when = line.split()
        if began(int(pid)) == when:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
