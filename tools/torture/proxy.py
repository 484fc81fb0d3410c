"""A way from one process to one service that can be cut: refused, reset, or frozen.

Frozen means that nothing gets through and nobody is told, as when a cable is pulled; what was on its way arrives when the
cut is mended.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable

REFUSE, RESET, FREEZE = "refuse", "reset", "freeze"
WAYS = (REFUSE, RESET, FREEZE)
_LOOPBACK = "127.0.0.1"
# Closing then means to tear: the other side sees a reset.
_TEAR = struct.pack("ii", 1, 0)
_PIECE = 1 << 16


class Proxy:
    """Listens on a port of its own; `service` says where the service is now."""

    def __init__(self, service: Callable[[], int]) -> None:
        self._service = service
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, _LOOPBACK, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        await self._refuse()
        self._open.set()

    async def cut(self, way: str) -> None:
        if way == FREEZE:
            self._open.clear()
        elif way == REFUSE:
            await self._refuse()
        else:
            self._tear()

    async def mend(self) -> None:
        self._open.set()
        if self._server is None:
            await self.start()

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        self._tear()

    def _tear(self) -> None:
        for writer in list(self._writers):
            _tear(writer)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        upstream: asyncio.StreamWriter | None = None
        try:
            await self._open.wait()
            answers, upstream = await asyncio.open_connection(_LOOPBACK, self._service())
            self._writers.add(upstream)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._carry(reader, upstream))
                both.create_task(self._carry(answers, writer))
        except* _Ended:
            pass
        except* OSError:
            for one in filter(None, (writer, upstream)):
                _tear(one)
        finally:
            for one in filter(None, (writer, upstream)):
                self._writers.discard(one)
                one.close()  # what has been written still arrives, unless it was torn

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_PIECE):
            await self._open.wait()
            writer.write(data)
            await writer.drain()
        await self._open.wait()
        raise _Ended


class _Ended(Exception):
    """One side has hung up: so does the other."""


def _tear(writer: asyncio.StreamWriter) -> None:
    found = writer.transport.get_extra_info("socket")
    with contextlib.suppress(OSError):
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _TEAR)
    writer.transport.abort()
