"""The exchanges and queues on the broker. All are bounded: old hints are worthless.

    isotherm.news   fanout   to a queue of each process (isotherm.news.*): these stacks have changed
    isotherm.work   direct   to a shared queue of the same name: a call for help
    isotherm.hints  topic    to a shared queue of the same name: a notification about reality

A user with all permissions on `isotherm.*` suffices.

A queue is never declared again with other arguments, which a broker refuses while an older version runs beside: a queue
with other arguments gets another name. Quorum queues with a message TTL need RabbitMQ 3.10.
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
# The broker waits half as long for a queue that does not answer.
_DELETE_S = 10.0
_WORK: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 100, "x-message-ttl": 5 * _SECOND}
_HINTS: dict[str, Any] = {"x-queue-type": "quorum", "x-max-length": 10_000, "x-max-length-bytes": 16 * 1024 * 1024,
                          "x-message-ttl": 300 * _SECOND}
_OWN: dict[str, Any] = {"x-max-length": 1000, "x-message-ttl": 60 * _SECOND}


class QueueUnresponsive(Exception):
    """A queue is known to the broker and does not answer."""


async def prepare(link: Link, channel: AbstractChannel, *, anew: bool = False) -> None:
    """Create the shared exchanges and queues, if they are missing.

    A broker that was killed just after it created a quorum queue may know only the name of the queue from then on. Such a
    queue raises `QueueUnresponsive`, and has to be created again (`anew`); its hints are lost.
    """
    for name, kind, arguments in ((WORK, ExchangeType.DIRECT, _WORK), (HINTS, ExchangeType.TOPIC, _HINTS)):
        if anew:
            await link.call(channel.queue_delete(name), _DELETE_S)
        await link.call(channel.declare_exchange(name, kind, durable=True))
        queue = await link.call(channel.declare_queue(name, durable=True, arguments=arguments))
        await link.call(queue.bind(name, "#" if kind is ExchangeType.TOPIC else ""))
    await link.call(channel.declare_exchange(NEWS, ExchangeType.FANOUT, durable=True))


async def consume(link: Link, channel: AbstractChannel, name: str, callback: Callback) -> tuple[AbstractQueue, str]:
    """Consume a shared queue. Return the queue and the tag of the consumer."""
    queue = await channel.get_queue(name, ensure=False)
    try:
        return queue, await link.consume(queue, callback)
    except (TimeoutError, AMQPConnectionError) as error:
        raise QueueUnresponsive(name) from error


async def own(link: Link, channel: AbstractChannel) -> AbstractQueue:
    """Create the queue of this process for announcements. It is deleted with the connection.

    The broker may notice the end of a connection late, so each connection uses another name.
    """
    name = f"{NEWS}.{uuid.uuid4().hex}"
    queue = await link.call(channel.declare_queue(name, exclusive=True, auto_delete=True, arguments=_OWN))
    await link.call(queue.bind(NEWS))
    return queue
