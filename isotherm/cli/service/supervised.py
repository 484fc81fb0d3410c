"""The worker's side of supervision: a socket to the supervisor, and for an API the shared listening socket.

The worker reports readiness over the socket (the tie). When the supervisor dies, the socket closes and the worker shuts
down gracefully. A process without a supervisor reports readiness to systemd, if systemd started it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping

from isotherm.engine.process.metrics import FOLDER

TIE, SOCKET, NOTIFY = "ISOTHERM_TIE", "ISOTHERM_SOCKET", "NOTIFY_SOCKET"
READY = b"ready\n"


def is_child() -> bool:
    """Return whether a supervisor started this process."""
    return TIE in os.environ


class Parent:
    """The supervisor of this process, if there is one."""

    def __init__(self) -> None:
        self.tie = _taken(TIE)
        #: The socket of the API, already listening.
        self.listening = _taken(SOCKET)

    @property
    def is_there(self) -> bool:
        return self.tie is not None

    def ready(self) -> None:
        if self.tie is None:
            notify("READY=1")
            return
        # If the supervisor has died, the closed socket stops the worker.
        with contextlib.suppress(OSError):
            self.tie.sendall(READY)


def environment(tie: socket.socket, listening: socket.socket | None, metrics: str) -> Mapping[str, str]:
    """Return the environment of a worker. `metrics` is the folder in which the numbers of all workers are."""
    own = {name: value for name, value in os.environ.items() if name != NOTIFY}
    shared = {} if listening is None else {SOCKET: str(listening.fileno())}
    return own | {TIE: str(tie.fileno()), FOLDER: metrics} | shared


def _taken(name: str) -> socket.socket | None:
    """Return the inherited socket with this name, and stop child processes from inheriting it."""
    number = os.environ.pop(name, "")
    if not number:
        return None
    found = socket.socket(fileno=int(number))
    found.set_inheritable(False)
    return found


def notify(state: str) -> None:
    """Notify systemd (sd_notify), if it started this process."""
    path = os.environ.get(NOTIFY, "")
    if not path:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.connect(f"\0{path[1:]}" if path.startswith("@") else path)
        systemd.sendall(state.encode())


def reloading() -> str:
    """Return the systemd message that announces a reload."""
    return f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"
