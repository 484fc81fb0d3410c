"""What a bus is to the engine, and the engine to a bus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(slots=True)
class Counts:
    """What became of messages, for metrics."""

    #: Messages that the broker has confirmed.
    published: int = 0
    #: Hints (a stack, a call for help) that were given up, because there was no broker for too long.
    dropped: int = 0
    #: Messages of others that were understood.
    received: int = 0
    #: Messages that were not: too large, not JSON, of a version that is not ours.
    refused: int = 0
    #: Connections that were made after the first.
    reconnects: int = 0


class BusListener(Protocol):
    """What a process does with what it hears. Whatever it raises is logged, and stays where it is."""

    def news(self, stack_ids: Sequence[str]) -> None:
        """Something about these stacks was accepted, cancelled or superseded: look now.

        With none: something may have been missed, of whichever stack.
        """

    async def come(self) -> None:
        """Somebody has more than it can carry: take a turn. Returns after its commit; then the call counts as answered."""

    def room(self) -> bool:
        """Whether this process can carry more. While it cannot, it takes no call."""
        ...

    def hint(self, what: Mapping[str, Any]) -> None:
        """Somebody says that something happened to reality."""


class Bus(Protocol):
    """Carries hints. Nothing here blocks, and nothing raises; all of it may be called from any thread."""

    counts: Counts

    @property
    def connected(self) -> bool:
        """Whether messages go out at this moment."""
        ...

    def tell(self, stack_ids: Sequence[str]) -> None:
        """All processes, this one first, are to look at these stacks."""

    def surplus(self) -> None:
        """Any one process with room may come."""

    def room_changed(self) -> None:
        """Ask `BusListener.room` again."""

    def listening(self, ears: BusListener | None = None, *, hints: bool = True) -> AbstractAsyncContextManager[None]:
        """Be on the bus, for as long as the caller is inside; it is entered at once, broker or not.

        Without ears a process only speaks. `hints` is whether it takes its share of those about reality.
        """
        ...
