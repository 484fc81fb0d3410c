"""Daemons that were started here, identified by pid and start time, so that no other process is ever ended."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
_PATIENCE_S = 300.0
_HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Lower ports belong to well-known services.
_FIRST = 10240


class Died(Exception):
    """A daemon ended before it was ready; the text has the end of its log."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process by pid and start time: pids are reused."""

    pid: int
    began: str

    def is_alive(self) -> bool:
        return self.began != "" and began(self.pid) == self.began


@dataclass(frozen=True, slots=True)
class Running:
    """A service that was started."""

    name: str
    url: str
    port: int
    folder: str
    log: str
    # The server comes first.
    processes: tuple[Process, ...] = field(default=())

    def is_alive(self) -> bool:
        return bool(self.processes) and all(process.is_alive() for process in self.processes)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Running:
        processes = tuple(Process(**one) for one in data["processes"])
        return cls(**{**data, "processes": processes})


def began(pid: int) -> str:
    """Return the start time of a process, as the kernel writes it; empty if it does not exist or has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    # A process whose first thread has ended still has its sockets while other threads end.
    return "" if fields[0] in "ZX" and int(fields[17]) <= 1 else fields[19]


def free_ports(count: int) -> list[int]:
    """Return ports without a listener that stay free while their daemon is down.

    Ephemeral ports do not: the next outgoing connection of any process may use one.
    """
    first, last = (int(end) for end in _HANDED_OUT.read_text().split())
    left = [*range(_FIRST, first), *range(last + 1, 65536)] or list(range(_FIRST, 65536))
    random.shuffle(left)
    with contextlib.ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            with contextlib.suppress(OSError):
                held.enter_context(socket.create_server((LOOPBACK, port := left.pop())))
                found.append(port)
        return found


def start(command: Sequence[str | Path], log: Path, *, environ: Mapping[str, str] | None = None,
          user: str | None = None, folder: Path | None = None) -> Process:
    """Start a daemon in a session of its own."""
    with log.open("ab") as out:
        made = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                env=None if environ is None else dict(environ), cwd=folder, user=user, group=user,
                                extra_groups=[] if user else None, start_new_session=True)
    # The daemon outlives this object on purpose: avoid Popen's warning about it.
    made.returncode = 0
    return Process(made.pid, began(made.pid))


def wait_until(ready: Callable[[], bool], processes: Sequence[Process], log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        _reap(processes)
        if not all(process.is_alive() for process in processes):
            raise Died(f"it ended at once:\n{tail(log)}")
        if ready():
            return
        time.sleep(0.05)
    raise Died(f"it was not ready within {_PATIENCE_S:.0f} s:\n{tail(log)}")


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


def tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:] if log.exists() else ""


def end(processes: Sequence[Process], first: signal.Signals, patience_s: float = 30.0) -> None:
    """End the processes: with the signal `first`, then SIGKILL. A reused pid is left alone."""
    # A killed child keeps its pid until it is reaped, and looks alive to other processes.
    _reap(processes)
    for kind in (first, signal.SIGKILL):
        for process in processes:
            if process.is_alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, kind)
        deadline = time.monotonic() + patience_s
        while any(process.is_alive() for process in processes) and time.monotonic() < deadline:
            time.sleep(0.02)
            _reap(processes)


def _reap(processes: Sequence[Process]) -> None:
    """Reap the children that have ended; other processes have other parents."""
    for process in processes:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)
