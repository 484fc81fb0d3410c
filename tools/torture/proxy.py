"""A proxy between one process and one service that can refuse, reset or freeze its connections.

A frozen connection passes no bytes and reports nothing, as when a cable is pulled; the bytes arrive after the cut. Without
a cut, bytes go straight from one socket to the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import cast

REFUSE, RESET, FREEZE = "refuse", "reset", "freeze"
WAYS = (REFUSE, RESET, FREEZE)
_LOOPBACK = "127.0.0.1"
# With this option, closing a socket sends a reset.
_TEAR = struct.pack("ii", 1, 0)


class Proxy:
    """Listens on a port of its own; `service` returns the current port of the service."""

    def __init__(self, service: Callable[[], int]) -> None:
        self._service = service
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._sides: set[_Side] = set()
        self._joining: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Side(self), _LOOPBACK, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        self._refuse()
        self._open.set()
        await asyncio.gather(*self._joining)

    async def cut(self, way: str) -> None:
        if way == FREEZE:
            self._open.clear()
            for side in self._sides:
                side.transport.pause_reading()
        elif way == REFUSE:
            self._refuse()
        else:
            self._tear()

    async def mend(self) -> None:
        self._open.set()
        for side in self._sides:
            side.go_on()
        if self._server is None:
            await self.start()

    def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._tear()

    def _tear(self) -> None:
        for side in list(self._sides):
            side.tear()

    # Called by the sides.

    def made(self, side: _Side) -> None:
        self._sides.add(side)
        if side.peer is None:
            side.transport.pause_reading()
            task = asyncio.create_task(self._join(side))
            self._joining.add(task)
            task.add_done_callback(self._joining.discard)
        elif not self.is_open:
            side.transport.pause_reading()

    def lost(self, side: _Side) -> None:
        self._sides.discard(side)

    async def _join(self, side: _Side) -> None:
        """Connect to the service for an accepted connection."""
        await self._open.wait()
        try:
            _, other = await asyncio.get_running_loop().create_connection(
                lambda: _Side(self, side), _LOOPBACK, self._service())
        except OSError:
            side.tear()
            return
        side.peer = other
        if side.transport.is_closing():
            other.transport.abort()
        else:
            side.go_on()


class _Side(asyncio.Protocol):
    """One of the two sockets of a connection; its peer is the other one, once that is open."""

    transport: asyncio.Transport

    def __init__(self, proxy: Proxy, peer: _Side | None = None) -> None:
        self._proxy = proxy
        self.peer = peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._proxy.made(self)

    def data_received(self, data: bytes) -> None:
        if self.peer is not None:
            self.peer.transport.write(data)

    def pause_writing(self) -> None:
        if self.peer is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None:
            self.peer.go_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._proxy.lost(self)
        if self.peer is not None and error is None:
            self.peer.transport.close()  # what has been written still arrives
        elif self.peer is not None:
            self.peer.tear()

    def go_on(self) -> None:
        if self.peer is not None and self._proxy.is_open and not self.transport.is_closing():
            self.transport.resume_reading()

    def tear(self) -> None:
        found = self.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            if found is not None:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _TEAR)
        self.transport.abort()
