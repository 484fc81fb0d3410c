"""Sends the messages of the outbox over one connection; each is confirmed before the next."""

from __future__ import annotations

from aio_pika import Message
from aio_pika.abc import AbstractChannel, AbstractExchange

from isotherm.bus import topology, wire
from isotherm.bus.link import Link
from isotherm.bus.outbox import Outbox, OutgoingMessage
from isotherm.bus.ports import Counts


class Sender:
    """Sends the messages of an outbox."""

    def __init__(self, sender: str, outbox: Outbox, counts: Counts) -> None:
        self._sender = sender
        self._outbox = outbox
        self._counts = counts

    async def run(self, link: Link, channel: AbstractChannel) -> None:
        """Send until the connection is lost. A message that was not confirmed is sent again over the next connection."""
        news = await channel.get_exchange(topology.NEWS, ensure=False)
        work = await channel.get_exchange(topology.WORK, ensure=False)
        while True:
            outgoing = await self._outbox.next()
            try:
                await self._publish(link, outgoing, news, work)
            except BaseException:
                self._outbox.was_not_sent(outgoing)
                raise
            self._counts.published += 1
            self._outbox.was_sent()

    async def _publish(self, link: Link, outgoing: OutgoingMessage, news: AbstractExchange, work: AbstractExchange) -> None:
        message = Message(wire.encode(self._sender, outgoing.stacks), content_type="application/json")
        if outgoing.stacks:
            await link.call(news.publish(message, "", mandatory=False))
        else:
            # A missing queue is an error, which ends the connection; the next connection creates the queue.
            await link.call(work.publish(message, "", mandatory=True))
