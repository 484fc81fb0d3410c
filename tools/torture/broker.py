"""Purges the queues of the broker, and at times deletes them."""

from __future__ import annotations

import asyncio
import contextlib
import random

import aio_pika

from isotherm.bus import topology

_QUEUES = (topology.WORK, topology.HINTS)
_PATIENCE_S = 10.0


async def purge(url: str, dice: random.Random) -> None:
    """Purge if the broker can be reached. The exclusive queue of a process ends with its connection only."""
    with contextlib.suppress(TimeoutError, OSError, aio_pika.exceptions.AMQPError):
        async with asyncio.timeout(_PATIENCE_S), await aio_pika.connect(url) as connection:
            for name in _QUEUES:
                channel = await connection.channel()
                with contextlib.suppress(aio_pika.exceptions.ChannelClosed):
                    queue = await channel.declare_queue(name, passive=True)
                    await queue.purge()
                    if dice.random() < 0.5:
                        await queue.delete(if_unused=False, if_empty=False)
