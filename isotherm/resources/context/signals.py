"""Signals: messages from outside to a resource, and how a type handles them.

A signal is stored before it has any effect. `Resource.handle_signal` is pure: it returns the key under which the signal
is stored (a later signal with the same key replaces the earlier one), the stored details, and the event text. A
resource that waits for signals reads an inbox and returns `contract.wait_for(inbox, ...)`: it is woken by the next
signal beyond those it has seen, so that no signal is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class HandledSignal:
    """The result of handling a signal. Without a reason, the signal changes nothing and causes no event."""

    key: str
    details: Any
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Signal:
    """One stored signal. Numbers grow with each signal of the resource."""

    number: int
    key: str
    details: Any


@dataclass(frozen=True, slots=True)
class Inbox:
    """The signals of one resource at one time, and their count."""

    topic: str
    type: str
    seen: int
    signals: Sequence[Signal] = ()


class Signals(Protocol):
    """The inboxes of a stack."""

    async def inbox(self, stack_id: str, reference: str, near: Sequence[int] = ()) -> Inbox | None:
        """Return the inbox of the resource with this physical id or token, or None.

        `near` are row numbers to search first.
        """
        ...

    def guarded(self, check: Callable[[], None]) -> Signals:
        """Return the same port; each change calls `check` first."""
        ...

    async def clear(self, inbox: Inbox) -> None:
        """Delete the signals that were seen; later ones stay."""
        ...
