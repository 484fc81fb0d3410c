"""What one of several workers has of the parent that started it: a tie, and for an API the socket that all of them share.

Over the tie it says that it is ready. When the parent dies, however it dies, the tie breaks, and the worker ends in good
order by itself. A process that has no parent of this kind says to systemd that it is ready, if that has started it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping

TIE, SOCKET, NOTIFY = "ISOTHERM_TIE", "ISOTHERM_SOCKET", "NOTIFY_SOCKET"
READY = b"ready\n"


def is_child() -> bool:
    """Whether this process is one of several, started by a parent."""
    return TIE in os.environ


class Parent:
    """Whoever started this process, if it wants to hear of it."""

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
        # If it has just died, the tie tells that too.
        with contextlib.suppress(OSError):
            self.tie.sendall(READY)


def environment(tie: socket.socket, listening: socket.socket | None) -> Mapping[str, str]:
    """What a parent gives to its child."""
    own = {name: value for name, value in os.environ.items() if name != NOTIFY}
    return own | {TIE: str(tie.fileno())} | ({} if listening is None else {SOCKET: str(listening.fileno())})


def _taken(name: str) -> socket.socket | None:
    """What was inherited under this name; whatever this process starts inherits it not."""
    number = os.environ.pop(name, "")
    if not number:
        return None
    found = socket.socket(fileno=int(number))
    found.set_inheritable(False)
    return found


def notify(state: str) -> None:
    """Tell systemd, if it has started us and wants to know (sd_notify)."""
    place = os.environ.get(NOTIFY, "")
    if not place:
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
        door.connect(f"\0{place[1:]}" if place.startswith("@") else place)
        door.sendall(state.encode())


def reloading() -> str:
    """What systemd wants to hear before all workers are renewed."""
    return f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"
