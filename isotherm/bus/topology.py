"""The exchanges and queues on the broker. All are bounded: what is old or too many is worth nothing.

    isotherm.news   fanout   to a queue of each process (isotherm.news.*): look at these stacks
    isotherm.work   direct   to a shared queue of the same name: somebody with room may come
    isotherm.hints  topic    to a shared queue of the same name: something happened to reality

So a user who may do everything with what begins with `isotherm.` may do all that we need.

A queue is never declared anew with other arguments, which a broker refuses while the older version runs beside it: one that
is to be otherwise gets another name. Quorum queues that forget by time need RabbitMQ 3.10.
"""

from __future__ import annotations

import uuid
from typing import Any

from aio_pika.abc import AbstractChannel, AbstractQueue, ExchangeType
from aio_pika.exceptions import AMQPConnectionError

from isotherm.bus.link import Callback, Link

NEWS = "isotherm.news"
WORK = "isotherm.work"
HINTS = "isotherm.hints"

_SECOND = 1000
# The broker itself waits half as long for a queue that does not answer, before it gives it up.
_DELETE_S = 10.0
_WORK: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 100, "x-message-ttl": 5 * _SECOND}
_HINTS: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 10_000, "x-max-length-bytes": 16 * 1024 * 1024,
                          "x-message-ttl": 300 * _SECOND}
_OWN: dict[str, Any] = {"x-max-length": 1000, "x-message-ttl": 60 * _SECOND}


class QueueUnresponsive(Exception):
    """A queue is known to the broker, and gives no answer."""


async def prepare(link: Link, channel: AbstractChannel, *, anew: bool = False) -> None:
    """All that is shared is there afterwards.

    A broker that was killed just after it made a quorum queue may know no more of it than the name, for ever. Such a queue
    is `QueueUnresponsive`, and is to be made `anew`; the hints that are in it are lost.
    """
    for name, kind, arguments in ((WORK, ExchangeType.DIRECT, _WORK), (HINTS, ExchangeType.TOPIC, _HINTS)):
        if anew:
            await link.call(channel.queue_delete(name), _DELETE_S)
        await link.call(channel.declare_exchange(name, kind, durable=True))
        queue = await link.call(channel.declare_queue(name, durable=True, arguments=arguments))
        await link.call(queue.bind(name, "#" if kind is ExchangeType.TOPIC else ""))
    await link.call(channel.declare_exchange(NEWS, ExchangeType.FANOUT, durable=True))


async def consume(link: Link, channel: AbstractChannel, name: str, callback: Callback) -> tuple[AbstractQueue, str]:
    """A shared queue, and the name under which it is being read."""
    queue = await channel.get_queue(name, ensure=False)
    try:
        return queue, await link.consume(queue, callback)
    except (TimeoutError, AMQPConnectionError) as error:
        raise QueueUnresponsive(name) from error


async def own(link: Link, channel: AbstractChannel) -> AbstractQueue:
    """The queue of this process for news. It goes with the connection.

    The broker may notice the end of that late, so the next one has another name.
    """
    name = f"{NEWS}.{uuid.uuid4().hex}"
    queue = await link.call(channel.declare_queue(name, exclusive=True, auto_delete=True, arguments=_OWN))
    await link.call(queue.bind(NEWS))
    return queue
