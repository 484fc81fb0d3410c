"""Processes of this machine, known by their number and the moment they began.

A number alone means nothing: it is given to somebody else once its process has ended. So no signal is ever sent to a
process that did not begin when the one that is meant did; a descriptor of the process holds it between look and signal.
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
    """One process: its number, and when it began, as the system counts."""

    pid: int
    start: int

    def is_alive(self) -> bool:
        return of(self.pid) == self

    def send(self, number: signal.Signals) -> bool:
        """Send a signal; False if it is not there any more."""
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
    """The process with that number, if it is alive. One that has ended and was not fetched by its parent is not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE] in _DEAD else Process(pid, int(fields[_START]))


def folder_of(pid: int) -> str | None:
    """The folder that a process works in, if we may know."""
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return None
