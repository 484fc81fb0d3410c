"""Signals: what the world tells a resource of its own accord, and how a type takes it.

A signal is stored before anybody acts on it. Taking one is pure: `Resource.handle_signal` says under which key it is kept
(a later signal with the same key takes the place of the earlier one), what is kept of it, and what the user reads of it
in the events. A resource that waits for signals reads an inbox and answers `contract.wait_for(inbox, ...)`: it is looked
at again as soon as there is more in the inbox than it has seen, and a signal that arrives in between cannot be missed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Taken:
    """What a type makes of a signal. No reason: it changes nothing, and is not told of."""

    key: str
    details: Any
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal as it is kept. Numbers grow with each signal that the resource gets."""

    number: int
    key: str
    details: Any


@dataclass(frozen=True, slots=True)
class Inbox:
    """The signals of one resource at one moment: who got them, and how many there had been."""

    topic: str
    type: str
    seen: int
    signals: Sequence[Signal] = ()


class Signals(Protocol):
    """The inboxes of a stack."""

    async def inbox(self, stack_id: str, reference: str, near: Sequence[int] = ()) -> Inbox | None:
        """That of the resource with this physical id or token; None if there is no such resource.

        `near` are the numbers of rows to look at first.
        """
        ...

    def guarded(self, check: Callable[[], None]) -> Signals:
        """The same, but whatever changes something calls `check` first."""
        ...

    async def clear(self, inbox: Inbox) -> None:
        """Forget what has been seen; what arrived since stays."""
        ...
