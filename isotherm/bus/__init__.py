"""The bus carries hints between processes: 'look at these stacks', 'there is more here than I can carry', 'this happened'.

The truth is in the database. A message that is lost, doubled or late changes nothing but how soon somebody looks, so
nothing here is ever waited for: without a broker, or with one that is down, everything goes on, only less promptly.

    bus = of("amqp://user:password@host:5672/vhost")
    async with bus.listening(listener):
        bus.announce([stack_id])
"""

from __future__ import annotations

import importlib

from isotherm.bus import address
from isotherm.bus.local import LocalBus
from isotherm.bus.ports import Bus, BusListener, Counts

__all__ = ["Bus", "BusListener", "Counts", "LocalBus", "of"]


def of(url: str, name: str = "") -> Bus:
    """The bus of a URL; without one, that of this process. `name` is how the broker's operator sees it.

    Raises UserError for a URL that is none. Nothing is connected to before somebody listens.
    """
    if not url:
        return LocalBus()
    addresses = address.parse(url)
    # The library is slow to import, and most have no broker.
    bus: Bus = importlib.import_module("isotherm.bus.amqp").AmqpBus(addresses, name)
    return bus
