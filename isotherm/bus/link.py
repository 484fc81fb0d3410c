"""One connection to a broker. It is never repaired: any error ends it.

Every call has a time limit. Cancelling a call of the library may itself wait for a broker that hangs, so a late call is
abandoned, and its socket is aborted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from aiormq.connection import TCPTransportFactory, TLSTransportFactory, TransportFactory

from isotherm.bus.address import Address

T = TypeVar("T")
Callback = Callable[[AbstractIncomingMessage], Awaitable[None]]

#: Time limits of connecting, of a call, and of closing.
CONNECT_S = 10.0
ANSWER_S = 5.0
CLOSE_S = 1.0
#: A broker that is silent for three times as long counts as dead.
_HEARTBEAT_S = 10

# The libraries log each attempt; this package logs changes. Without a handler of the user, theirs are not shown.
for _name in ("aio_pika", "aiormq"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class ConnectionLost(Exception):
    """The connection has ended or cannot be used any more."""


class _Transport(TransportFactory):
    """Opens the socket as the library does, and keeps it so that it can be aborted."""

    def __init__(self, *, tls: bool) -> None:
        # With TLS, the certificate authorities are those of the system.
        self._inner: TransportFactory = TLSTransportFactory() if tls else TCPTransportFactory()
        self._writer: asyncio.StreamWriter | None = None

    async def create(self, url: Any, **options: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, self._writer = await self._inner.create(url, **options)
        return reader, self._writer

    def cut(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()


class Link:
    """A connection, from `open` to `close`."""

    def __init__(self, address: Address, name: str) -> None:
        url = aio_pika.connection.make_url(
            host=address.host, port=address.port, login=address.user, password=address.password,
            virtualhost=address.vhost, ssl=address.tls, heartbeat=_HEARTBEAT_S)
        self._transport = _Transport(tls=address.tls)
        self._connection = aio_pika.Connection(url, client_properties={"connection_name": name})
        self._connection.kwargs["transport_factory"] = self._transport
        self._calls: set[asyncio.Future[Any]] = set()
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        self._connection.close_callbacks.add(self._closed)
        await self.call(self._connection.connect(), CONNECT_S)

    async def channel(self, *, prefetch: int = 0, is_vital: bool = True) -> AbstractChannel:
        """Open a channel. If it is closed, or loses a consumer because its queue is deleted, the connection ends.

        A channel that is not vital may be closed by the broker.
        """
        channel = self._connection.channel(on_return_raises=True)
        if is_vital:
            channel.close_callbacks.add(self._closed)
        await self.call(channel.initialize())
        if prefetch:
            await self.call(channel.set_qos(prefetch_count=prefetch))
        (await channel.get_underlay_channel()).on_consumer_cancel_callbacks.add(self._consumer_gone)
        return channel

    async def consume(self, queue: AbstractQueue, callback: Callback, *, no_ack: bool = False) -> str:
        return await self.call(queue.consume(callback, no_ack=no_ack))

    async def call(self, request: Awaitable[T], limit_s: float | None = None) -> T:
        """Return the broker's answer. Raises the errors of the library, and TimeoutError after the limit."""
        limit_s = ANSWER_S if limit_s is None else limit_s
        call = asyncio.ensure_future(request)
        self._calls.add(call)
        call.add_done_callback(self._returned)
        try:
            done, _ = await asyncio.wait({call}, timeout=limit_s)
        except asyncio.CancelledError:
            call.cancel()
            raise
        if not done:
            self._transport.cut()
            call.cancel()
            raise TimeoutError(f"the broker has not answered within {limit_s:g} s")
        return call.result()

    async def lost(self) -> None:
        """Wait for the end of the connection, and raise ConnectionLost."""
        raise ConnectionLost(await asyncio.shield(self._lost))

    async def close(self) -> None:
        """Close the connection; no task of it is left afterwards, even if the broker hangs."""
        closing = asyncio.ensure_future(self._connection.close())
        self._calls.add(closing)
        closing.add_done_callback(self._returned)
        if not await self._settled(CLOSE_S):
            self._transport.cut()
            for call in self._calls:
                call.cancel()
            await self._settled(CLOSE_S)
        self._lost.cancel()

    async def _settled(self, limit_s: float) -> bool:
        if self._calls:
            await asyncio.wait(self._calls, timeout=limit_s)
        return not self._calls

    def _returned(self, call: asyncio.Future[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # Marks the error as retrieved; an abandoned caller does not.

    def _closed(self, _: object, error: BaseException | None = None) -> None:
        self._ends(str(error) or type(error).__name__)

    def _consumer_gone(self, _: object) -> None:
        self._ends("a queue was deleted")

    def _ends(self, why: str) -> None:
        if not self._lost.done():
            self._lost.set_result(why)
