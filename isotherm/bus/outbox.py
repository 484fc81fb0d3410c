"""Messages that are still to be sent: bounded and without repetitions, even if there is no broker for long.

All stacks that are announced in one pass of the loop go in one message, and so do those announced while one is being sent.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice

from isotherm.bus.ports import Counts

#: The number of stacks in one message.
BATCH = 200
#: The number of stacks kept while there is no broker. Workers find the others by themselves.
MOST = 2000


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message: stacks that have changed, or without any, a call for help."""

    stacks: tuple[str, ...] = ()


class Outbox:
    """Holds messages until they are sent. Used on one loop, except before the loop runs."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        # Used as an ordered set: oldest first.
        self._stacks: OrderedDict[str, None] = OrderedDict()
        self._calls = False
        self._filled = asyncio.Event()
        self._sent = asyncio.Event()
        self._sent.set()

    def announce(self, stack_ids: tuple[str, ...]) -> None:
        self._counts.dropped += len(stack_ids[:-MOST])
        for stack_id in stack_ids[-MOST:]:
            self._stacks[stack_id] = None
            self._stacks.move_to_end(stack_id)
        self._trim()
        self._changed()

    def call_for_help(self) -> None:
        self._calls = True
        self._changed()

    async def next(self) -> OutgoingMessage:
        """Wait for a message and return it. Announcements go first: a superseded step may be running in another process."""
        await self._filled.wait()
        if self._stacks:
            letter = OutgoingMessage(tuple(islice(self._stacks, BATCH)))
            for stack_id in letter.stacks:
                del self._stacks[stack_id]
        else:
            letter, self._calls = OutgoingMessage(), False
        if not self._stacks and not self._calls:
            self._filled.clear()
        return letter

    def was_sent(self) -> None:
        if not self._filled.is_set():
            self._sent.set()

    def was_not_sent(self, letter: OutgoingMessage) -> None:
        """Keep the message for the next connection. If there are too many stacks, the oldest are dropped."""
        if letter.stacks:
            self._stacks = OrderedDict.fromkeys([*letter.stacks, *self._stacks])
            self._trim()
        else:
            self._calls = True
        self._changed()

    async def all_sent(self) -> None:
        await self._sent.wait()

    def _changed(self) -> None:
        self._sent.clear()
        self._filled.set()

    def _trim(self) -> None:
        while len(self._stacks) > MOST:
            self._stacks.popitem(last=False)
            self._counts.dropped += 1
