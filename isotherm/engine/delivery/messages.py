"""Sinks, the messages that they are given, and the ids by which a receiver recognises a repeated message."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from isotherm.store.sinks.deliveries import DeliverableEvent

_NAMESPACE = uuid.UUID("5f0a4a0e-8a53-4d0e-9d55-6d2f3a6c1b77")


class NotDelivered(Exception):
    """The sink did not take a message. The text says why, without secrets."""


@dataclass(frozen=True, slots=True)
class SinkMessage:
    """One message: the same event gives the same id."""

    id: str
    type: str
    body: dict[str, Any]


class Sink(Protocol):
    """A place that events are delivered to, in their order."""

    #: Its row in the table of deliveries.
    name: str
    #: Its kind, for metrics and the log.
    kind: str
    #: How often a message is tried; None: until it is taken.
    most_attempts: int | None

    def messages(self, event: DeliverableEvent) -> Sequence[SinkMessage]:
        """Return the messages for an event; none if the sink does not want it."""

    async def deliver(self, message: SinkMessage) -> None:
        """Return when the sink has taken the message. Raises NotDelivered."""

    async def close(self) -> None:
        """Close connections."""


def message_id(event: DeliverableEvent, type_: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{event.stack.id} {event.id} {type_}"))
