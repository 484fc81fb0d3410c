"""What comes in over one connection, and when it counts as answered.

A call for help is acknowledged when the turn that it led to is committed, and no sooner: if this process dies in between,
the broker gives it to another. While there is no room, none is asked for: it stays for somebody who has.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial

from aio_pika.abc import AbstractIncomingMessage, AbstractQueue

from isotherm.bus import topology, wire
from isotherm.bus.link import Link
from isotherm.bus.listener import SafeListener
from isotherm.bus.ports import Counts

#: One call is one turn.
_CALLS = 1
_HINTS = 64
# Where a turn failed, the next one would fail as well.
_REST_S = 1.0


class NewsConsumer:
    """Hears of stacks from all other processes."""

    def __init__(self, listener: SafeListener, counts: Counts, sender: str) -> None:
        self._listener = listener
        self._counts = counts
        self._sender = sender

    async def begin(self, link: Link) -> None:
        channel = await link.channel()
        await link.consume(await topology.own(link, channel), self._on_message, no_ack=True)

    async def _on_message(self, message: AbstractIncomingMessage) -> None:
        try:
            found = wire.decode(message.body)
        except wire.MessageRefused:
            self._counts.refused += 1
            return
        # What we said ourselves we heard at once.
        if found.sender != self._sender:
            self._counts.received += 1
            self._listener.stacks_changed(found.stacks)


class HintConsumer:
    """Hears of reality, in turn with other processes."""

    def __init__(self, listener: SafeListener, counts: Counts) -> None:
        self._listener = listener
        self._counts = counts

    async def begin(self, link: Link) -> None:
        channel = await link.channel(prefetch=_HINTS)
        await topology.consume(link, channel, topology.HINTS, partial(self._on_message, link))

    async def _on_message(self, link: Link, message: AbstractIncomingMessage) -> None:
        """Acknowledged also if it makes no sense: it would make none to another."""
        try:
            found = wire.hint(message.body)
        except wire.MessageRefused:
            self._counts.refused += 1
        else:
            self._counts.received += 1
            self._listener.reality_hint(found)
        # Where that fails, the connection is at its end, which others notice.
        with suppress(Exception):
            await link.call(message.ack())


class WorkConsumer:
    """Answers calls for help, one at a time, while there is room."""

    def __init__(self, listener: SafeListener, counts: Counts, bell: asyncio.Event) -> None:
        self._listener = listener
        self._counts = counts
        # Rings when a call has come, and when there may be room, or none any more.
        self._bell = bell
        self._come: deque[AbstractIncomingMessage] = deque()
        self._source: tuple[AbstractQueue, str] | None = None

    async def run(self, link: Link) -> None:
        """Until the connection is lost."""
        channel = await link.channel(prefetch=_CALLS)
        self._bell.set()
        while True:
            await self._bell.wait()
            self._bell.clear()
            if not self._listener.has_capacity():
                await self._stop(link)
                continue
            if self._source is None:
                self._source = await topology.consume(link, channel, topology.WORK, self._called)
            if self._come and not await self._answer(link, self._come.popleft()):
                await self._stop(link)
                await asyncio.sleep(_REST_S)
                self._bell.set()

    async def _called(self, message: AbstractIncomingMessage) -> None:
        self._come.append(message)
        self._bell.set()

    async def _answer(self, link: Link, message: AbstractIncomingMessage) -> bool:
        """Whether the turn that was taken came to its end."""
        # Whether there is room for another is asked afterwards.
        self._bell.set()
        try:
            wire.decode(message.body)
        except wire.MessageRefused:
            self._counts.refused += 1
            await link.call(message.ack())
            return True
        self._counts.received += 1
        came = await self._listener.take_turn()
        await link.call(message.ack() if came else message.nack(requeue=True))
        return came

    async def _stop(self, link: Link) -> None:
        """What has come already goes to somebody else."""
        if self._source is not None:
            queue, tag = self._source
            await link.call(queue.cancel(tag))
            self._source = None
        while self._come:
            await link.call(self._come.popleft().nack(requeue=True))
