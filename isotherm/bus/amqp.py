"""The bus over AMQP 0-9-1 (RabbitMQ), for engines on many hosts.

A task connects, sends, and connects again with growing pauses, to any broker of a cluster, until the process leaves.
No caller waits for it: messages go to a bounded outbox, and to the listener of this process at once.
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

#: Pauses before the next connection: the first, and the longest. Each is shortened at random, to spread the processes.
_FIRST_S, _LONGEST_S = 0.1, 10.0
#: A connection that lasted so long was good: the next pause is the first one.
_GOOD_S = 10.0
#: A queue that does not answer so often in a row is created again.
_ENOUGH = 2
#: Time limits on leaving: for messages that are still to be sent, and for the turn under way.
_LAST_S = 1.0


class AmqpBus(LocalBus):
    """The bus of all processes that use the same broker."""

    def __init__(self, addresses: Sequence[Address], name: str = "") -> None:
        super().__init__()
        self._addresses = random.sample(addresses, len(addresses))
        self._name = name
        self._sender = ""
        self._outbox = Outbox(self.counts)
        self._changed = asyncio.Event()
        # None before the first attempt.
        self._up: bool | None = None
        self._been_up = False
        # The time at which the present connection counts as good.
        self._good_at = math.inf
        # Connections in a row in which a queue did not answer.
        self._silences = 0

    @property
    def connected(self) -> bool:
        return self._up is True

    def call_for_help(self) -> None:
        self._on_loop(self._outbox.call_for_help)

    def capacity_changed(self) -> None:
        self._on_loop(self._changed.set)

    @asynccontextmanager
    async def listening(self, listener: BusListener | None = None, *, hints: bool = True) -> AsyncIterator[None]:
        # Not in the constructor: the process may have been forked since.
        self._sender = uuid.uuid4().hex
        async with super().listening(listener):
            task = asyncio.create_task(self._run(listener, hints=hints), name="bus")
            try:
                yield
            finally:
                await self._send_remaining()
                task.cancel()
                await asyncio.wait({task})
                await self._listener.leave(_LAST_S)
                self._up = None

    def _announce(self, stack_ids: tuple[str, ...]) -> None:
        super()._announce(stack_ids)
        self._outbox.announce(stack_ids)

    async def _send_remaining(self) -> None:
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
            except Exception as error:  # noqa: BLE001 - the engine works without the broker, whatever the error
                self._is_down(address, error)
                self._silences = self._silences + 1 if _is_silence(error) else 0
            pause_s = _FIRST_S if loop.time() > self._good_at else min(2 * pause_s, _LONGEST_S)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))

    async def _session(self, address: Address, listener: BusListener | None, *, hints: bool) -> None:
        """Run one connection. Raises the error of the task that ended it."""
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
            # Messages may have been missed while the bus was not connected.
            self._listener.stacks_changed(())
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(link.lost())
                tasks.create_task(Sender(self._sender, self._outbox, self.counts).run(link, channel))
                if listener is not None:
                    tasks.create_task(receive.WorkConsumer(self._listener, self.counts, self._changed).run(link))
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
            log.warning("the broker is not reachable; going on without it and trying again", extra={
                "broker": str(address), "reason": address.censored(f"{type(why).__name__}: {why}")})
        self._up = False


def _is_silence(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        return error.subgroup(topology.QueueUnresponsive) is not None
    return isinstance(error, topology.QueueUnresponsive)
