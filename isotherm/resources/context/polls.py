"""Polls of cloud objects: many objects of one collection that are waited for are read by one list.

An object that is asked for alone is read by a request of its own, at once. Each collection has a budget of requests; once
it is used up, questions are collected, and the next list answers all of them. A list answers only questions that were asked
before it began: so it shows the effect of every change that was made before the question.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isotherm import errors

# Requests for each collection in a second, and how many may come at once after a quiet time.
CALLS_PER_S = 2.0
BURST = 8
# From so many objects on, one list is cheaper than a request for each.
BULK = 3
# How long a collection is not listed after the service has refused to list it.
_REFUSED_S = 300.0

Found = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects of a list by their ids, and the number of requests that the list took."""

    found: Mapping[str, Found]
    calls: int = 1


@dataclass(frozen=True, slots=True)
class ObjectList:
    """The objects of one kind that one credential can list."""

    # The credential, the service and the path: questions with the same key are answered together.
    key: tuple[object, ...]
    # Returns the objects with these ids; it may return others as well.
    list_ids: Callable[[Sequence[str]], Awaitable[Listing]] = field(compare=False)
    # How many ids a list takes; None: the list has all objects of the collection.
    ids_per_list: int | None = None


class PollHub:
    """Answers questions for objects of all collections. One serves a whole process."""

    def __init__(self) -> None:
        self._queues: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[object, ...], _Queue]] = (
            weakref.WeakKeyDictionary())

    async def show(
        self, collection: ObjectList, object_id: str, alone: Callable[[], Awaitable[Found | None]]
    ) -> Found | None:
        """Return the object as a list shows it, or as `alone` does: where that is no slower, or the list lacks it."""
        queue = self._queue(collection)
        if queue.takes_alone():
            return await alone()
        found = await queue.listed(collection, object_id)
        # A list may lack an object that was made a moment ago: only a request for the object itself is proof.
        return await alone() if found is None else found

    async def show_many(self, collection: ObjectList, ids: Iterable[str]) -> list[Found | None]:
        """Return the objects that a list shows; None for those that it lacks. Even two are read by a list."""
        queue = self._queue(collection)
        queue.must_list = True
        # All are asked for before the list can begin: one that came a moment later would need a request of its own.
        return list(await asyncio.gather(*[queue.listed(collection, one) for one in ids]))

    def _queue(self, collection: ObjectList) -> _Queue:
        queues = self._queues.setdefault(asyncio.get_running_loop(), {})
        found = queues.get(collection.key)
        if found is None:
            found = queues[collection.key] = _Queue()
            self._drop_idle(queues)
        return found

    @staticmethod
    def _drop_idle(queues: dict[tuple[object, ...], _Queue]) -> None:
        """Forget collections that are not asked for any more: each stack may have a credential of its own."""
        for key in [key for key, queue in queues.items() if queue.is_idle]:
            if len(queues) > 1000:
                del queues[key]


class _Queue:
    """The questions for the objects of one collection, and its budget of requests."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[asyncio.Future[Found | None]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._budget, self._budget_at = float(BURST), _now()
        self._refused_until = 0.0
        # Whether the next questions are answered by a list, however few they are.
        self.must_list = False
        # The number of requests of the last list: a long one has to answer more questions to be cheaper.
        self._list_calls = 1

    @property
    def is_idle(self) -> bool:
        return self._task is None and _now() - self._budget_at > BURST / CALLS_PER_S

    def takes_alone(self) -> bool:
        """Return whether a question is best answered by its own request; count the request."""
        if _now() < self._refused_until:
            return True
        if self._task is not None or self._missing_s() > 0:
            return False
        self._budget -= 1
        return True

    def listed(self, collection: ObjectList, object_id: str) -> asyncio.Future[Found | None]:
        """Ask for the object as the next list shows it; the answer is None if the list lacks it, or there is none."""
        future: asyncio.Future[Found | None] = asyncio.get_running_loop().create_future()
        if _now() < self._refused_until:
            future.set_result(None)
            return future
        self._waiting.setdefault(object_id, []).append(future)
        if self._task is None:
            self._task = asyncio.create_task(self._answer(collection))
        return future

    async def _answer(self, collection: ObjectList) -> None:
        """Answer the questions, list by list, until none is left."""
        try:
            while self._waiting:
                await asyncio.sleep(self._missing_s())
                ids = list(self._waiting)[:collection.ids_per_list]
                asked = {one: self._waiting.pop(one) for one in ids}
                try:
                    await self._answer_from_list(collection, asked)
                finally:
                    _resolve(asked, {})
        finally:
            self._task = None
            # Only a loop that ends stops the task early: then the questions are cancelled as well.
            for future in (one for futures in self._waiting.values() for one in futures):
                future.cancel()
            self._waiting.clear()

    async def _answer_from_list(
        self, collection: ObjectList, asked: Mapping[str, list[asyncio.Future[Found | None]]]
    ) -> None:
        must_list, self.must_list = self.must_list, False
        if not must_list and (len(asked) < BULK or len(asked) <= self._list_calls):
            self._list_calls = 1
            self._budget -= len(asked)
            return
        try:
            listing = await collection.list_ids(list(asked))
        except errors.Permanent:
            # The service does not list these objects for this credential: each is asked for by itself.
            self._refused_until = _now() + _REFUSED_S
            return
        except Exception as error:  # noqa: BLE001 - the error of a list is the answer to all its questions
            self._budget -= 1
            _fail(asked, error)
            return
        self._list_calls = listing.calls
        self._missing_s()
        self._budget -= listing.calls
        _resolve(asked, listing.found)

    def _missing_s(self) -> float:
        """Return the time until the budget allows a request: 0.0 if it does."""
        now = _now()
        self._budget = min(float(BURST), self._budget + (now - self._budget_at) * CALLS_PER_S)
        self._budget_at = now
        return max(0.0, (1 - self._budget) / CALLS_PER_S)


def _resolve(asked: Mapping[str, list[asyncio.Future[Found | None]]], found: Mapping[str, Found]) -> None:
    for object_id, futures in asked.items():
        for future in futures:
            if not future.done():
                future.set_result(found.get(object_id))


def _fail(asked: Mapping[str, list[asyncio.Future[Found | None]]], error: Exception) -> None:
    for future in (one for futures in asked.values() for one in futures):
        if not future.done():
            future.set_exception(error)


def _now() -> float:
    return asyncio.get_running_loop().time()
