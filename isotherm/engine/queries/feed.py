"""The feed of events: one query for all readers, a few times a second.

The newest events are kept in memory, a bounded number of them. A reader is a position in that list and takes what is behind
the position when it is ready, so no reader waits for a slow one. A reader that falls far behind gets an error and has to
come again with the id of its last event. A reader whose id is older than the memory is served from the database, in bounded
pieces, until it has caught up.

Ids follow the order of commits (see `store.reads.feed`): after an id, no smaller id can appear."""

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
# The number of events in memory.
KEPT = 5000
# A reader this many times KEPT behind is too slow.
SLOW = 4
# The number of events that one query reads.
PIECE = 1000
# The number of stack paths in memory.
_PATHS = 50_000
READERS = 1000


class StackPath(NamedTuple):
    """The path of a stack: its own id and those of its outer stacks, from the inside out."""

    name: str
    project: str
    around: tuple[str, ...]


class FeedEvent:
    """One event, and the path of its stack. The form that the stream shows is made when the first reader asks for it."""

    __slots__ = ("_row", "_shown", "id", "path")

    def __init__(self, row: lookups.Row, path: StackPath) -> None:
        self.id: int = row["id"]
        self.path = path
        self._row = row
        self._shown: dict[str, Any] | None = None

    @property
    def event(self) -> dict[str, Any]:
        if self._shown is None:
            self._shown = _view(self._row, self.path)
        return self._shown

    def resource_of(self, stack_id: str) -> str:
        """Return the resource of a stack whose event this is; "" if it is of another stack, or of the stack itself."""
        return str(self._row["name"]) if self._row["stack_id"] == stack_id else ""


class Subscription(NamedTuple):
    """The events that a reader wants: those of a project, or of one stack and its nested stacks."""

    project: str
    stack_id: str = ""

    def covers(self, path: StackPath) -> bool:
        return path.project == self.project and (not self.stack_id or self.stack_id in path.around)


class StreamOwner(NamedTuple):
    """A project or a user whose readers are counted, and the most that it may have; -1: any number."""

    kind: str
    id: str
    most: int


class ReaderTooSlow(Exception):
    """The reader was too slow: its next events are not in memory any more. It has to come again."""


class TooManyStreams(Exception):
    """An owner has as many readers as it may have."""

    def __init__(self, owner: StreamOwner) -> None:
        super().__init__(f"{owner.kind} {owner.id} reads {owner.most} streams of events already, and may read no more.")


class FeedClosed(Exception):
    """The service stops."""


class Feed:
    """The events of a store. It reads the database while it has readers."""

    def __init__(self, store: Store, *, tick_s: float = TICK_S, kept: int = KEPT) -> None:
        self._store = store
        self._tick_s = tick_s
        self._most = kept
        self._kept: list[FeedEvent] = []
        # The feed has read all events up to `_last`; those after `_from` are in memory.
        self._from = self._last = 0
        self._paths: OrderedDict[str, StackPath] = OrderedDict()
        self._readers = 0
        self._by_owner: Counter[tuple[str, str]] = Counter()
        self._news: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._started: asyncio.Future[None] | None = None
        self._closing = False

    async def read(
        self, subscription: Subscription, after: int | None = None, owners: Sequence[StreamOwner] = ()
    ) -> AsyncGenerator[list[FeedEvent], None]:
        """Yield events, from now on or after an id; the reader is counted for each of `owners`.

        The first list is empty and comes at once. Raises ReaderTooSlow and FeedClosed; TooManyStreams if an owner may have
        no more readers, and Unavailable if there are too many altogether.
        """
        for owner in owners:
            if 0 <= owner.most <= self._by_owner[owner[:2]]:
                raise TooManyStreams(owner)
        if self._readers >= READERS:
            raise errors.Unavailable("There are too many readers of events.")
        self._readers += 1
        self._by_owner.update(owner[:2] for owner in owners)
        try:
            await self._start()
            position = self._last if after is None or after > self._last else after
            yield []
            async for found in self._from_position(subscription, position):
                yield found
        finally:
            self._by_owner -= Counter(owner[:2] for owner in owners)
            self._end_reader()

    async def _from_position(self, subscription: Subscription, position: int) -> AsyncIterator[list[FeedEvent]]:
        """Read from the database until the position is in memory; then from memory, and from the database after a burst."""
        had_caught_up = False
        while not self._closing:
            if position < self._from:
                if had_caught_up and self._last - position > SLOW * self._most:
                    raise ReaderTooSlow
                position, found = await self._missed(subscription, position)
            else:
                had_caught_up = True
                position, found = self._next(subscription, position)
                if not found and position == self._last:
                    await self._wait()
            if found:
                yield found
        raise FeedClosed

    @property
    def last(self) -> int:
        """The id of the newest event that the feed has read."""
        return self._last

    def close(self) -> None:
        """End all readers."""
        self._closing = True
        self._notify()

    async def _missed(self, subscription: Subscription, position: int) -> tuple[int, list[FeedEvent]]:
        """Return the next piece before the memory, from the database, and the position after it."""
        upto = min(position + PIECE, self._from)
        rows = await self._store.read(lambda connection: events.window(connection, position, upto, PIECE))
        return upto, await self._with_paths(rows, subscription)

    def _next(self, subscription: Subscription, position: int) -> tuple[int, list[FeedEvent]]:
        """Return the next piece from memory, and the position after it."""
        begin = bisect.bisect_right(self._kept, position, key=lambda one: one.id)
        piece = self._kept[begin:begin + PIECE]
        end = piece[-1].id if begin + PIECE < len(self._kept) else self._last
        return end, [one for one in piece if subscription.covers(one.path)]

    async def _wait(self) -> None:
        if self._news is None:
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._news)

    def _notify(self) -> None:
        news, self._news = self._news, None
        if news is not None and not news.done():
            news.set_result(None)

    # One task reads the database for all readers, for as long as there are any.

    async def _start(self) -> None:
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._read_repeatedly(self._started))
        await asyncio.shield(self._started)

    def _end_reader(self) -> None:
        self._readers -= 1
        if self._readers == 0 and self._task is not None:
            self._task.cancel()
            self._task = self._started = None
            self._kept = []

    async def _read_repeatedly(self, started: asyncio.Future[None]) -> None:
        while True:
            try:
                if not started.done():
                    self._from = self._last = await self._store.read(events.last_id)
                    started.set_result(None)
                await self._read_new()
            except errors.Unavailable:
                pass  # the database does not answer: the next query may
            await asyncio.sleep(self._tick_s)

    async def _read_new(self) -> None:
        while rows := await self._store.read(lambda c: events.window(c, self._last, 2**62, PIECE)):
            new = await self._with_paths(rows)
            self._kept += new
            self._last = rows[-1]["id"]
            too_many = len(self._kept) - self._most
            if too_many > 0:
                self._from = self._kept[too_many - 1].id
                del self._kept[:too_many]
            self._notify()
            await asyncio.sleep(0)

    async def _with_paths(self, rows: Sequence[lookups.Row], subscription: Subscription | None = None) -> list[FeedEvent]:
        """Return events with the paths of their stacks; only those of the subscription, if one is given."""
        await self._learn({row["stack_id"] for row in rows})
        found = [(row, self._paths[row["stack_id"]]) for row in rows if row["stack_id"] in self._paths]
        return [FeedEvent(row, path) for row, path in found
                if subscription is None or subscription.covers(path)]

    async def _learn(self, stack_ids: Iterable[str]) -> None:
        """Load the paths of these stacks. A path never changes, so it is loaded once."""
        unknown = [id_ for id_ in stack_ids if id_ not in self._paths]
        if unknown:
            self._paths.update(await self._store.read(lambda connection: _paths(connection, unknown)))
            while len(self._paths) > _PATHS:
                self._paths.popitem(last=False)


def _paths(connection: Connection, stack_ids: Sequence[str]) -> dict[str, StackPath]:
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


def _view(row: lookups.Row, path: StackPath) -> dict[str, Any]:
    """Return an event as the stream shows it: an event of the stack itself has the stack's name."""
    view = views.event(row)
    name = row["name"] or path.name
    return {
        "id": row["id"], "event_time": view["event_time"], "stack_id": row["stack_id"], "stack_name": path.name,
        "root_stack_id": path.around[-1], "resource_name": name, "logical_resource_id": name,
        "resource_type": row["type"], "physical_resource_id": row["physical_id"],
        "resource_status": view["resource_status"], "resource_status_reason": row["reason"] or "state changed",
    }
