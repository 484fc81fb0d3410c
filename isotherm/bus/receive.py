"""Consumes the messages of one connection, and acknowledges them.

A call for help is acknowledged when its turn is committed: if this process dies before that, the broker gives the call to
another process. While the process has no capacity it does not consume calls, so that they go to other processes.
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

#: Calls for help that are taken at once: one call is one turn.
_CALLS = 1
_HINTS = 64
# The pause after a failed turn: the next one would probably fail as well.
_PAUSE_S = 1.0


class NewsConsumer:
    """Consumes announcements of stacks from all other processes."""

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
        # The announcements of this process reached its listener directly.
        if found.sender != self._sender:
            self._counts.received += 1
            self._listener.stacks_changed(found.stacks)


class HintConsumer:
    """Consumes notifications about reality, shared with the other processes."""

    def __init__(self, listener: SafeListener, counts: Counts) -> None:
        self._listener = listener
        self._counts = counts

    async def begin(self, link: Link) -> None:
        channel = await link.channel(prefetch=_HINTS)
        await topology.consume(link, channel, topology.HINTS, partial(self._on_message, link))

    async def _on_message(self, link: Link, message: AbstractIncomingMessage) -> None:
        """Pass a notification on. One that is refused is acknowledged too: another process would refuse it as well."""
        try:
            found = wire.hint(message.body)
        except wire.MessageRefused:
            self._counts.refused += 1
        else:
            self._counts.received += 1
            self._listener.reality_hint(found)
        # If that fails, the connection has ended, and `Link.lost` raises.
        with suppress(Exception):
            await link.call(message.ack())


class WorkConsumer:
    """Answers calls for help, one at a time, while the process has capacity."""

    def __init__(self, listener: SafeListener, counts: Counts, changed: asyncio.Event) -> None:
        self._listener = listener
        self._counts = counts
        # Set when a call has arrived, and when the capacity may have changed.
        self._changed = changed
        self._calls: deque[AbstractIncomingMessage] = deque()
        self._source: tuple[AbstractQueue, str] | None = None

    async def run(self, link: Link) -> None:
        """Run until the connection is lost."""
        channel = await link.channel(prefetch=_CALLS)
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            if not self._listener.has_capacity():
                await self._stop(link)
                continue
            if self._source is None:
                self._source = await topology.consume(link, channel, topology.WORK, self._called)
            if self._calls and not await self._answer(link, self._calls.popleft()):
                await self._stop(link)
                await asyncio.sleep(_PAUSE_S)
                self._changed.set()

    async def _called(self, message: AbstractIncomingMessage) -> None:
        self._calls.append(message)
        self._changed.set()

    async def _answer(self, link: Link, message: AbstractIncomingMessage) -> bool:
        """Take a turn for the call. Return whether it succeeded."""
        # The capacity is checked again afterwards.
        self._changed.set()
        try:
            wire.decode(message.body)
        except wire.MessageRefused:
            self._counts.refused += 1
            await link.call(message.ack())
            return True
        self._counts.received += 1
        succeeded = await self._listener.take_turn()
        await link.call(message.ack() if succeeded else message.nack(requeue=True))
        return succeeded

    async def _stop(self, link: Link) -> None:
        """Stop consuming, and give calls that have arrived back to the broker."""
        if self._source is not None:
            queue, tag = self._source
            await link.call(queue.cancel(tag))
            self._source = None
        while self._calls:
            await link.call(self._calls.popleft().nack(requeue=True))
