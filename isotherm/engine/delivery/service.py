"""Delivers events to sinks: each sink has a position in the events, and one process at a time delivers what is after it.

A message is sent first and recorded after: a process that is killed in between leaves a message to be sent again, with the
same id, and none is lost. A sink that takes nothing is tried again after pauses that double, and holds back only itself.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence

from isotherm import errors
from isotherm.engine.delivery.messages import NotDelivered, Sink, SinkMessage
from isotherm.planning import masking
from isotherm.resources.context.context import Clock
from isotherm.store.database.writer import Store
from isotherm.store.sinks import deliveries
from isotherm.store.sinks.deliveries import DeliverableEvent, Delivery

log = logging.getLogger(__name__)

# Seconds between two looks at the events; the lease of a sink; the first and the longest pause after a failure.
_TICK_S, _LEASE_S, _FIRST_S, _LONGEST_S = 1.0, 30.0, 1.0, 300.0
# Events of one read.
_BATCH = 100

#: Called with the kind of a sink and the outcome of an attempt: delivered, failed, dropped.
Count = Callable[[str, str], None]


class DeliveryService:
    """Delivers to the sinks of a process until it is stopped."""

    def __init__(self, store: Store, clock: Clock, sinks: Sequence[Sink], count: Count = lambda *_: None) -> None:
        self._store = store
        self._clock = clock
        self._sinks = sinks
        self._count = count
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for sink in self._sinks:
                tasks.create_task(self._serve(sink))

    async def _serve(self, sink: Sink) -> None:
        is_enrolled = False
        try:
            while not self._stopped.is_set():
                try:
                    if not is_enrolled:
                        await self._enrol(sink)
                        is_enrolled = True
                    while await self._deliver_batch(sink):
                        pass
                except errors.Unavailable:
                    pass  # the engine of this process logs it
                except Exception as error:
                    log.error("delivering failed; trying again", exc_info=masking.loggable(error),
                              extra={"sink": sink.kind})
                await self._pause()
        finally:
            await sink.close()

    async def _enrol(self, sink: Sink) -> None:
        await self._store.write(lambda connection: deliveries.enrol(connection, [sink.name], self._clock.now()))

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(_TICK_S):
                await self._stopped.wait()
        except TimeoutError:
            return

    async def _deliver_batch(self, sink: Sink) -> bool:
        """Deliver the next events; return whether there may be more now."""
        now = self._clock.now()
        if not await self._store.read(lambda connection: deliveries.is_anything(connection, sink.name, now)):
            return False
        lease = await self._store.write(lambda connection: deliveries.take(connection, sink.name, now, _LEASE_S))
        if lease is None:
            return False
        batch = await self._store.read(lambda connection: deliveries.after(connection, lease.position, _BATCH))
        position, attempts = lease.position, lease.attempts
        for event in batch.events:
            if not await self._deliver_event(sink, lease, event, position, attempts):
                return False
            position, attempts = event.id, 0
            if self._stopped.is_set():
                await self._record(lease, position, 0, 0.0)
                return False
        return await self._record(lease, batch.position, 0, 0.0)

    async def _deliver_event(
        self, sink: Sink, lease: Delivery, event: DeliverableEvent, position: int, attempts: int
    ) -> bool:
        """Deliver the messages of one event; return whether the next event may follow under this lease."""
        messages = sink.messages(event)
        for message in messages:
            try:
                await sink.deliver(message)
                self._count(sink.kind, "delivered")
            except NotDelivered as error:
                if not self._is_last(sink, attempts + 1, message, error):
                    await self._record(lease, position, attempts + 1, pause_s(attempts))
                    return False
        return not messages or await self._record(lease, event.id, 0, _LEASE_S)

    def _is_last(self, sink: Sink, attempts: int, message: SinkMessage, error: NotDelivered) -> bool:
        """Log a failed attempt; return whether the message is dropped."""
        said = {"sink": sink.kind, "message_id": message.id, "type": message.type, "attempts": attempts,
                "reason": str(error)}
        if sink.most_attempts is not None and attempts >= sink.most_attempts:
            self._count(sink.kind, "dropped")
            log.warning("message dropped: the sink does not take it", extra=said)
            return True
        self._count(sink.kind, "failed")
        log.log(logging.WARNING if attempts == 1 else logging.INFO, "message not delivered; trying again", extra=said)
        return False

    async def _record(self, lease: Delivery, position: int, attempts: int, due_in_s: float) -> bool:
        due = self._clock.now() + due_in_s
        return await self._store.write(lambda connection: deliveries.record(connection, lease, position, attempts, due))


def pause_s(attempts: int) -> float:
    """Return the pause after one more failed attempt: shortened at random, so that sinks are not called all at once."""
    longest: float = min(_LONGEST_S, _FIRST_S * 2 ** min(attempts, 16))
    return longest * random.uniform(0.5, 1)
