"""Daemons that were started here: known by their number and by when they began, ended by that and by nothing else."""

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
_PATIENCE_S = 120.0
_HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
# Below are the ports of well-known services.
_FIRST = 10240


class Died(Exception):
    """It ended before it was ready; the text has the end of its log."""


@dataclass(frozen=True, slots=True)
class Process:
    """A number alone says little: numbers are used again. With the moment it began it is one process only."""

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
    # The one that serves comes first.
    processes: tuple[Process, ...] = field(default=())

    def is_alive(self) -> bool:
        return bool(self.processes) and all(process.is_alive() for process in self.processes)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Running:
        processes = tuple(Process(**one) for one in data["processes"])
        return cls(**{**data, "processes": processes})


def began(pid: int) -> str:
    """When a process began, as the kernel tells it; empty if there is none, or if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, and that stay free while the daemon on one of them is dead.

    Those that the system hands out by itself do not: anybody's next connection may come from the very port.
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
    # It outlives this object on purpose: nobody has to wait for it here.
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
    """End them, asked politely first. What is not the process that was started is left alone."""
    # One that was killed meanwhile still has its number, and looks to others as if it lived.
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
    """A child that has ended goes only when its parent has looked at it; others look after themselves."""
    for process in processes:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)
