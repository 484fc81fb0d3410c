"""What goes out over one connection: one message at a time, and each is confirmed before the next."""

from __future__ import annotations

from aio_pika import Message
from aio_pika.abc import AbstractChannel, AbstractExchange

from isotherm.bus import topology, wire
from isotherm.bus.link import Link
from isotherm.bus.outbox import Outbox, OutgoingMessage
from isotherm.bus.ports import Counts


class Sender:
    """Empties the outbox."""

    def __init__(self, sender: str, outbox: Outbox, counts: Counts) -> None:
        self._sender = sender
        self._outbox = outbox
        self._counts = counts

    async def run(self, link: Link, channel: AbstractChannel) -> None:
        """Until the connection is lost. What was not confirmed goes again over the next: twice does no harm."""
        news = await channel.get_exchange(topology.NEWS, ensure=False)
        work = await channel.get_exchange(topology.WORK, ensure=False)
        while True:
            letter = await self._outbox.next()
            try:
                await self._publish(link, letter, news, work)
            except BaseException:
                self._outbox.was_not_sent(letter)
                raise
            self._counts.published += 1
            self._outbox.was_sent()

    async def _publish(self, link: Link, letter: OutgoingMessage, news: AbstractExchange, work: AbstractExchange) -> None:
        message = Message(wire.encode(self._sender, letter.stacks), content_type="application/json")
        if letter.stacks:
            await link.call(news.publish(message, "", mandatory=False))
        else:
            # A queue that is gone is an error, and is there again after the next connection.
            await link.call(work.publish(message, "", mandatory=True))
