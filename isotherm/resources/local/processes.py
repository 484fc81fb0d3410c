"""Processes of this machine, identified by number and start time.

A number alone is reused after its process has ended. So a signal is only sent to a process with the same start time; a
process descriptor closes the race between check and signal.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

# After the name in brackets: the state, and so many fields later the start, in ticks since the machine began.
_STATE, _START = 0, 19
_DEAD = frozenset("ZXx")


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its number and its start time."""

    pid: int
    start: int

    def is_alive(self) -> bool:
        return of(self.pid) == self

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; return False if the process has ended."""
        try:
            held = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.is_alive():
                return False
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(held, number)
            return True
        finally:
            os.close(held)


def of(pid: int) -> Process | None:
    """Return the living process with that number, or None; a zombie is not alive."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE] in _DEAD else Process(pid, int(fields[_START]))


def folder_of(pid: int) -> str | None:
    """Return the working directory of a process, if it may be read."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return None
