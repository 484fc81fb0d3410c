"""The bus over AMQP 0-9-1 (RabbitMQ), for engines on many hosts.

A task of its own connects, sends, and connects again, for ever and with growing pauses, to any of the brokers of a cluster.
Nobody waits for it: what is said goes to an outbox of bounded size, and to the listener of this process at once.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import os
import random
import socket
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from isotherm.bus import receive, topology
from isotherm.bus.address import Address
from isotherm.bus.link import Link
from isotherm.bus.local import LocalBus
from isotherm.bus.outbox import Outbox
from isotherm.bus.ports import BusListener
from isotherm.bus.send import Sender

log = logging.getLogger(__name__)

#: Pauses before connecting again: the first, and the longest. Each is shortened by chance, so that not all come at once.
_FIRST_S, _LONGEST_S = 0.1, 10.0
#: A connection that held so long was a good one, and the next pause is a first one.
_GOOD_S = 10.0
#: So often in a row may a queue give no answer before it is made anew.
_ENOUGH = 2
#: So long may the last words take when somebody leaves, and so long the turn that is under way.
_LAST_S = 1.0


class AmqpBus(LocalBus):
    """A bus for all processes that have the same broker."""

    def __init__(self, addresses: Sequence[Address], name: str = "") -> None:
        super().__init__()
        self._addresses = random.sample(addresses, len(addresses))
        self._name = name
        self._sender = ""
        self._outbox = Outbox(self.counts)
        self._bell = asyncio.Event()
        # Not known before the first attempt.
        self._up: bool | None = None
        self._been_up = False
        # When the present connection will have proved itself.
        self._good_at = math.inf
        # How often in a row a broker let us in, and one of its queues then gave no answer.
        self._silences = 0

    @property
    def connected(self) -> bool:
        return self._up is True

    def call_for_help(self) -> None:
        self._on_loop(self._outbox.call_for_help)

    def capacity_changed(self) -> None:
        self._on_loop(self._bell.set)

    @asynccontextmanager
    async def listening(self, listener: BusListener | None = None, *, hints: bool = True) -> AsyncIterator[None]:
        # Not sooner: a process may have been split in two since.
        self._sender = uuid.uuid4().hex
        async with super().listening(listener):
            task = asyncio.create_task(self._run(listener, hints=hints), name="bus")
            try:
                yield
            finally:
                await self._last_words()
                task.cancel()
                await asyncio.wait({task})
                await self._listener.leave(_LAST_S)
                self._up = None

    def _told(self, stack_ids: tuple[str, ...]) -> None:
        super()._told(stack_ids)
        self._outbox.announce(stack_ids)

    async def _last_words(self) -> None:
        if self._up is False:
            return
        try:
            async with asyncio.timeout(_LAST_S):
                await self._outbox.all_sent()
        except TimeoutError:
            return

    async def _run(self, listener: BusListener | None, *, hints: bool) -> None:
        loop = asyncio.get_running_loop()
        pause_s = _FIRST_S
        for address in itertools.cycle(self._addresses):
            self._good_at = math.inf
            try:
                await self._session(address, listener, hints=hints)
            except Exception as error:  # noqa: BLE001 - whatever a broker does, the engine goes on without it
                self._is_down(address, error)
                self._silences = self._silences + 1 if _is_silence(error) else 0
            pause_s = _FIRST_S if loop.time() > self._good_at else min(2 * pause_s, _LONGEST_S)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))

    async def _session(self, address: Address, listener: BusListener | None, *, hints: bool) -> None:
        """One connection, from its beginning to its end, of which one of its tasks tells the reason."""
        link = Link(address, self._name or f"isotherm {socket.gethostname()} {os.getpid()}")
        try:
            await link.open()
            channel = await link.channel()
            await topology.prepare(link, channel, anew=self._silences >= _ENOUGH)
            if listener is not None:
                await receive.NewsConsumer(self._listener, self.counts, self._sender).begin(link)
                if hints:
                    await receive.HintConsumer(self._listener, self.counts).begin(link)
            self._is_up(address)
            # Others may have told something while we were away: nobody knows what.
            self._listener.stacks_changed(())
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(link.lost())
                tasks.create_task(Sender(self._sender, self._outbox, self.counts).run(link, channel))
                if listener is not None:
                    tasks.create_task(receive.WorkConsumer(self._listener, self.counts, self._bell).run(link))
        finally:
            await link.close()

    def _is_up(self, address: Address) -> None:
        self._up = True
        self._good_at = asyncio.get_running_loop().time() + _GOOD_S
        self.counts.reconnects += self._been_up
        self._been_up = True
        log.info("connected to the broker", extra={"broker": str(address)})

    def _is_down(self, address: Address, error: Exception) -> None:
        if self._up is not False:
            why = next(iter(error.exceptions), error) if isinstance(error, ExceptionGroup) else error
            log.warning("no broker: going on without, and trying again", extra={
                "broker": str(address), "reason": address.censored(f"{type(why).__name__}: {why}")})
        self._up = False


def _is_silence(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        return error.subgroup(topology.QueueUnresponsive) is not None
    return isinstance(error, topology.QueueUnresponsive)
