"""The bus carries hints between processes: these stacks have changed, a worker needs help, reality has changed.

The truth is in the database. A message that is lost, doubled or late only changes how soon a process reacts, so nothing
waits for the bus: without a broker, or with a broker that is down, everything goes on, only less promptly.

    bus = of("amqp://user:password@host:5672/vhost")
    async with bus.listening(listener):
        bus.announce([stack_id])
"""

from __future__ import annotations

from isotherm import loading
from isotherm.bus import address
from isotherm.bus.local import LocalBus
from isotherm.bus.ports import Bus, BusListener, Counts, NotPublished, Publisher

__all__ = ["Bus", "BusListener", "Counts", "LocalBus", "NotPublished", "Publisher", "of", "publisher"]


def of(url: str, name: str = "") -> Bus:
    """Return the bus of a URL, or without a URL the bus of this process. `name` is the name of its connections.

    Raises UserError for an invalid URL. The bus connects when `listening` is entered.
    """
    if not url:
        return LocalBus()
    addresses = address.parse(url)
    # The import is slow, and most installations have no broker.
    bus: Bus = loading.load("isotherm.bus.amqp:AmqpBus")(addresses, name)
    return bus


def publisher(url: str, exchange: str, *, durable: bool) -> Publisher:
    """Return a publisher to an exchange of a broker. Raises UserError for an invalid URL."""
    found: Publisher = loading.load("isotherm.bus.publish:AmqpPublisher")(
        address.parse(url), exchange, durable=durable)
    return found
