"""Events as they happen, for any number of readers: one look at the database for all of them, a few times a second.

The newest events are kept in memory, a bounded number of them. A reader is a place in that row, and nothing more: it takes
what is behind its place when it is ready to. So nobody waits for a slow one; when it falls far behind it is told to come
again, with the number of the last event that it got. Whoever comes with a number that is older than the memory is served
from the database, in bounded pieces, until it has caught up.

Numbers are given out in the order of commits (see `store.feed`): after a number, nothing below it can appear.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from typing import Any, NamedTuple

from isotherm import errors
from isotherm.engine.queries import views
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import events, lookups

TICK_S = 0.2
# So many events are kept for readers that are a little late.
KEPT = 5000
# Whoever is so many times as far behind is too slow.
SLOW = 4
# So many are read in one go.
PIECE = 1000
# So many stacks are remembered with what they are inside of.
_PLACES = 50_000
READERS = 1000


class StackPath(NamedTuple):
    """Where a stack stands: it and all around it, from the inside out."""

    name: str
    project: str
    around: tuple[str, ...]


class FeedEvent(NamedTuple):
    """One event, and where it happened."""

    id: int
    event: dict[str, Any]
    place: StackPath


class Subscription(NamedTuple):
    """What a reader wants to know of: a project, or one stack of it with all that is inside."""

    project: str
    stack_id: str = ""

    def covers(self, place: StackPath) -> bool:
        return place.project == self.project and (not self.stack_id or self.stack_id in place.around)


class StreamOwner(NamedTuple):
    """A project or a user on whose account readers are counted, and how many it may have; -1: any number."""

    kind: str
    id: str
    most: int


class ReaderTooSlow(Exception):
    """The reader was too slow: what comes next for it is not kept any more. It has to come again."""


class TooManyStreams(Exception):
    """A holder has as many readers as it may have."""

    def __init__(self, holder: StreamOwner) -> None:
        super().__init__(f"{holder.kind} {holder.id} reads {holder.most} streams of events already, and may read no more.")


class FeedClosed(Exception):
    """The service stops."""


class Feed:
    """The events of a store, from the moment on when somebody first wants to know."""

    def __init__(self, store: Store, *, tick_s: float = TICK_S, kept: int = KEPT) -> None:
        self._store = store
        self._tick_s = tick_s
        self._most = kept
        self._kept: list[FeedEvent] = []
        # All events up to `_last` have been seen; all after `_from` are kept.
        self._from = self._last = 0
        self._places: OrderedDict[str, StackPath] = OrderedDict()
        self._readers = 0
        self._held: Counter[tuple[str, str]] = Counter()
        self._news: asyncio.Future[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._started: asyncio.Future[None] | None = None
        self._closing = False

    async def read(
        self, interest: Subscription, after: int | None = None, holders: Sequence[StreamOwner] = ()
    ) -> AsyncGenerator[list[FeedEvent], None]:
        """What happens, from now on or from after a number on; the reader is counted on the account of each holder.

        The first answer is an empty list, at once. Raises Lost and Closing; Crowded if a holder may have no more readers,
        and Unavailable if there are too many altogether.
        """
        for holder in holders:
            if 0 <= holder.most <= self._held[holder[:2]]:
                raise TooManyStreams(holder)
        if self._readers >= READERS:
            raise errors.Unavailable("There are too many readers of events.")
        self._readers += 1
        self._held.update(holder[:2] for holder in holders)
        try:
            await self._watch()
            place = self._last if after is None or after > self._last else after
            yield []
            async for found in self._from_place(interest, place):
                yield found
        finally:
            self._held -= Counter(holder[:2] for holder in holders)
            self._leave()

    async def _from_place(self, interest: Subscription, place: int) -> AsyncIterator[list[FeedEvent]]:
        """From the database until it has caught up; then from memory, and again from the database after a great rush."""
        had_caught_up = False
        while not self._closing:
            if place < self._from:
                if had_caught_up and self._last - place > SLOW * self._most:
                    raise ReaderTooSlow
                place, found = await self._missed(interest, place)
            else:
                had_caught_up = True
                place, found = self._next(interest, place)
                if not found and place == self._last:
                    await self._wait()
            if found:
                yield found
        raise FeedClosed

    @property
    def last(self) -> int:
        """The number up to which all has been seen."""
        return self._last

    def close(self) -> None:
        """No reader gets anything more."""
        self._closing = True
        self._tell()

    async def _missed(self, interest: Subscription, place: int) -> tuple[int, list[FeedEvent]]:
        """The next piece of what is older than what is kept, from the database; and where it ends."""
        upto = min(place + PIECE, self._from)
        rows = await self._store.read(lambda connection: events.window(connection, place, upto, PIECE))
        return upto, await self._placed(rows, interest)

    def _next(self, interest: Subscription, place: int) -> tuple[int, list[FeedEvent]]:
        """The next piece of what is kept; and where it ends."""
        begin = bisect.bisect_right(self._kept, place, key=lambda one: one.id)
        piece = self._kept[begin:begin + PIECE]
        end = piece[-1].id if begin + PIECE < len(self._kept) else self._last
        return end, [one for one in piece if interest.covers(one.place)]

    async def _wait(self) -> None:
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)

    def _tell(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    # Watching: one task for all readers, for as long as there are any.

    async def _watch(self) -> None:
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._watching = asyncio.create_task(self._look_again_and_again(self._started))
        await asyncio.shield(self._started)

    def _leave(self) -> None:
        self._readers -= 1
        if self._readers == 0 and self._watching is not None:
            self._watching.cancel()
            self._watching = self._started = None
            self._kept = []

    async def _look_again_and_again(self, started: asyncio.Future[None]) -> None:
        while True:
            try:
                if not started.done():
                    self._from = self._last = await self._store.read(events.last_id)
                    started.set_result(None)
                await self._look()
            except errors.Unavailable:
                pass  # the database does not answer: the next look may
            await asyncio.sleep(self._tick_s)

    async def _look(self) -> None:
        while rows := await self._store.read(lambda c: events.window(c, self._last, 2**62, PIECE)):
            placed = await self._placed(rows)
            self._kept += placed
            self._last = rows[-1]["id"]
            too_many = len(self._kept) - self._most
            if too_many > 0:
                self._from = self._kept[too_many - 1].id
                del self._kept[:too_many]
            self._tell()
            await asyncio.sleep(0)

    async def _placed(self, rows: Sequence[lookups.Row], interest: Subscription | None = None) -> list[FeedEvent]:
        """Events with their places; only those of interest, if one is given."""
        await self._learn({row["stack_id"] for row in rows})
        placed = [(row, self._places[row["stack_id"]]) for row in rows if row["stack_id"] in self._places]
        return [FeedEvent(row["id"], _view(row, place), place) for row, place in placed
                if interest is None or interest.covers(place)]

    async def _learn(self, stack_ids: Iterable[str]) -> None:
        """Where these stacks stand. They stay there for good, so it is asked once."""
        unknown = [id_ for id_ in stack_ids if id_ not in self._places]
        if unknown:
            self._places.update(await self._store.read(lambda connection: _places(connection, unknown)))
            while len(self._places) > _PLACES:
                self._places.popitem(last=False)


def _places(connection: Connection, stack_ids: Sequence[str]) -> dict[str, StackPath]:
    known: dict[str, tuple[str, str, str | None]] = {}
    asked: set[str] = set(stack_ids)
    tried: set[str] = set()
    while asked:
        tried |= asked
        known.update({id_: (name, project, owner) for id_, name, project, owner in events.stacks_of(connection, asked)})
        asked = {owner for *_, owner in known.values() if owner is not None} - tried
    return {id_: StackPath(known[id_][0], known[id_][1], tuple(_around(id_, known))) for id_ in stack_ids if id_ in known}


def _around(stack_id: str, known: dict[str, tuple[str, str, str | None]]) -> Iterable[str]:
    at: str | None = stack_id
    while at is not None:
        yield at
        at = known[at][2] if at in known else None


def _view(row: lookups.Row, place: StackPath) -> dict[str, Any]:
    """An event as the stream tells it: that of a stack itself bears the stack's name."""
    told = views.event(row)
    name = row["name"] or place.name
    return {
        "id": row["id"], "event_time": told["event_time"], "stack_id": row["stack_id"], "stack_name": place.name,
        "root_stack_id": place.around[-1], "resource_name": name, "logical_resource_id": name,
        "resource_type": row["type"], "physical_resource_id": row["physical_id"],
        "resource_status": told["resource_status"], "resource_status_reason": row["reason"] or "state changed",
    }
