"""The exchanges and queues on the broker. All are bounded: what is old or too many is worth nothing.

    isotherm.news   fanout   to a queue of each process: look at these stacks
    isotherm.work   queue    shared: somebody with room may come
    isotherm.hints  topic    to a shared queue of the same name: something happened to reality

A queue is never declared anew with other arguments, which a broker refuses while the older version runs beside it: one that
is to be otherwise gets another name. Quorum queues that forget by time need RabbitMQ 3.10.
"""

from __future__ import annotations

from typing import Any

from aio_pika.abc import AbstractChannel, AbstractExchange, AbstractQueue, ExchangeType

from isotherm.bus.link import Link

NEWS = "isotherm.news"
WORK = "isotherm.work"
HINTS = "isotherm.hints"

_SECOND = 1000
_WORK: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 100, "x-message-ttl": 5 * _SECOND}
_HINTS: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 10_000, "x-max-length-bytes": 16 * 1024 * 1024,
                          "x-message-ttl": 300 * _SECOND}
_OWN: dict[str, Any] = {"x-max-length": 1000, "x-message-ttl": 60 * _SECOND}


async def news(link: Link, channel: AbstractChannel) -> AbstractExchange:
    return await link.call(channel.declare_exchange(NEWS, ExchangeType.FANOUT, durable=True))


async def own(link: Link, channel: AbstractChannel) -> AbstractQueue:
    """The queue of this process for news. It goes with the connection."""
    queue = await link.call(channel.declare_queue(exclusive=True, auto_delete=True, arguments=_OWN))
    await link.call(queue.bind(NEWS))
    return queue


async def work(link: Link, channel: AbstractChannel) -> AbstractQueue:
    return await link.call(channel.declare_queue(WORK, durable=True, arguments=_WORK))


async def hints(link: Link, channel: AbstractChannel) -> AbstractQueue:
    await link.call(channel.declare_exchange(HINTS, ExchangeType.TOPIC, durable=True))
    queue = await link.call(channel.declare_queue(HINTS, durable=True, arguments=_HINTS))
    await link.call(queue.bind(HINTS, "#"))
    return queue
