"""Publishes notifications for other programs, in the queues from which listeners of oslo.messaging read them.

A message counts as published when the broker has confirmed it in a queue. An exchange or a queue that is missing is
created, as a listener would; one that exists stays as it is.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
from collections.abc import Awaitable, Callable, Sequence

from aio_pika import DeliveryMode, Message
from aio_pika.abc import AbstractChannel, AbstractExchange, ExchangeType
from aio_pika.exceptions import ChannelNotFoundEntity

from isotherm.bus.address import Address
from isotherm.bus.link import Link
from isotherm.bus.ports import NotPublished


class AmqpPublisher:
    """Publishes to queues behind one topic exchange. The connection is opened by the first message, and after an error."""

    def __init__(self, addresses: Sequence[Address], exchange: str, *, durable: bool) -> None:
        self._addresses = itertools.cycle(random.sample(addresses, len(addresses)))
        self._exchange_name = exchange
        self._durable = durable
        self._link: Link | None = None
        self._exchange: AbstractExchange | None = None
        self._queues: set[str] = set()

    async def publish(self, queue: str, body: bytes, message_id: str) -> None:
        """Return when the broker has confirmed the message. Raises NotPublished."""
        try:
            link = self._link or await self._open(next(self._addresses))
            await self._prepare(link, queue)
            assert self._exchange is not None
            message = Message(body, content_type="application/json", content_encoding="utf-8", message_id=message_id,
                              delivery_mode=DeliveryMode.PERSISTENT)
            await link.call(self._exchange.publish(message, queue, mandatory=True))
        except Exception as error:
            await self.close()
            raise NotPublished(f"the broker did not take the message: {type(error).__name__}") from error

    async def close(self) -> None:
        """Close the connection; the next message opens another."""
        link, self._link, self._exchange, self._queues = self._link, None, None, set()
        if link is not None:
            await link.close()

    async def _open(self, address: Address) -> Link:
        link = self._link = Link(address, f"isotherm notifications {socket.gethostname()} {os.getpid()}")
        await link.open()
        return link

    async def _prepare(self, link: Link, queue: str) -> None:
        """Find or create the exchange and the queue, and bind them."""
        if queue in self._queues:
            return
        name, durable = self._exchange_name, self._durable
        if not await _exists(link, lambda channel: channel.get_exchange(name, ensure=True)):
            channel = await link.channel(is_vital=False)
            await link.call(channel.declare_exchange(name, ExchangeType.TOPIC, durable=durable))
        if not await _exists(link, lambda channel: channel.get_queue(queue, ensure=True)):
            channel = await link.channel(is_vital=False)
            await link.call(channel.declare_queue(queue, durable=durable))
        channel = await link.channel()
        self._exchange = await channel.get_exchange(name, ensure=False)
        await link.call((await channel.get_queue(queue, ensure=False)).bind(self._exchange, queue))
        self._queues.add(queue)


async def _exists(link: Link, find: Callable[[AbstractChannel], Awaitable[object]]) -> bool:
    """Look without creating: a broker refuses to create what exists with other properties, and closes the channel."""
    channel = await link.channel(is_vital=False)
    try:
        await link.call(find(channel))
    except ChannelNotFoundEntity:
        return False
    return True
