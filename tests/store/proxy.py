"""A way to a server of which a test says when it breaks: before a word gets through, or after it was answered.

The proxies of the fault test cut at any moment; here the moment is the point.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

_LOOPBACK = "127.0.0.1"


class Proxy:
    """Listens on a port of its own, and carries what comes to the port that `target` tells."""

    def __init__(self, target: Callable[[], int]) -> None:
        self._target = target
        self._open = threading.Event()
        self._open.set()
        self._sockets: set[socket.socket] = set()
        # What a client says next that has this in it is not carried; or its answer is not.
        self._before: bytes | None = None
        self._after: bytes | None = None
        self.cuts = 0
        self._listener = socket.create_server((_LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, word: bytes) -> None:
        """Break the connection before the next message with this text arrives."""
        self._before = word

    def lose_answer(self, word: bytes) -> None:
        """Break the connection after the server has answered a message with this text, before the answer arrives."""
        self._after = word

    def cut(self) -> None:
        """All ways break that there are now."""
        self.cuts += 1
        for one in list(self._sockets):
            _end(one)

    def freeze(self) -> None:
        """Pass nothing on any more, without closing a connection."""
        self._open.clear()

    def thaw(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._listener.close()
        self.cut()
        self.thaw()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(client,), daemon=True).start()

    def _connect(self, client: socket.socket) -> None:
        self._open.wait()
        try:
            server = socket.create_connection((_LOOPBACK, self._target()))
        except OSError:
            client.close()
            return
        self._sockets |= {client, server}
        swallow = threading.Event()
        threading.Thread(target=self._carry, args=(client, server, self._say(swallow)), daemon=True).start()
        self._carry(server, client, lambda _: not swallow.is_set())

    def _say(self, swallow: threading.Event) -> Callable[[bytes], bool]:
        def said(data: bytes) -> bool:
            if self._before is not None and self._before in data:
                self._before = None
                return False
            if self._after is not None and self._after in data:
                self._after = None
                swallow.set()
            return True

        return said

    def _carry(self, from_: socket.socket, to: socket.socket, may: Callable[[bytes], bool]) -> None:
        with contextlib.suppress(OSError):
            while data := from_.recv(1 << 16):
                self._open.wait()
                if not may(data):
                    self.cuts += 1
                    break
                to.sendall(data)
        for one in (from_, to):
            self._sockets.discard(one)
            _end(one)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
