"""The bus as the engine uses it, and the listener that the engine gives to the bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(slots=True)
class Counts:
    """Counts of messages, for metrics."""

    #: Messages that the broker has confirmed.
    published: int = 0
    #: Hints (a stack, a call for help) that were dropped because there was no broker for too long.
    dropped: int = 0
    #: Messages of other processes that were read.
    received: int = 0
    #: Messages that were refused: too large, not JSON, of an unknown version.
    refused: int = 0
    #: Connections that were made after the first.
    reconnects: int = 0


class BusListener(Protocol):
    """The reactions of a process to messages. Exceptions of these methods are logged and go no further."""

    def stacks_changed(self, stack_ids: Sequence[str]) -> None:
        """React to operations that were accepted, cancelled or superseded on these stacks.

        An empty sequence means that messages may have been missed, about any stack.
        """

    async def take_turn(self) -> None:
        """Claim work for a process that called for help. Returns after the commit; then the call is acknowledged."""

    def has_capacity(self) -> bool:
        """Return whether this process can claim more. While it cannot, it takes no calls for help."""
        ...

    def reality_hint(self, message: Mapping[str, Any]) -> None:
        """React to a notification about reality."""


class Bus(Protocol):
    """Carries hints between processes. No method blocks or raises; all may be called from any thread."""

    counts: Counts

    @property
    def connected(self) -> bool:
        """Return whether messages can be sent now."""
        ...

    def announce(self, stack_ids: Sequence[str]) -> None:
        """Notify all processes, this one first, that these stacks have changed."""

    def call_for_help(self) -> None:
        """Ask any one process with capacity to take a turn."""

    def capacity_changed(self) -> None:
        """Call `BusListener.has_capacity` again."""

    def listening(self, listener: BusListener | None = None, *, hints: bool = True) -> AbstractAsyncContextManager[None]:
        """Be on the bus inside of the context. It is entered at once, with or without a broker.

        Without a listener, the process only sends. `hints`: the process takes its share of notifications about reality.
        """
        ...


class NotPublished(Exception):
    """The broker did not confirm a message. The text has no secrets."""


class Publisher(Protocol):
    """Publishes messages for other programs, each confirmed by the broker."""

    async def publish(self, queue: str, body: bytes, message_id: str) -> None:
        """Return when the message is in the queue. Raises NotPublished."""

    async def close(self) -> None:
        """Close the connection; the next message opens another."""
