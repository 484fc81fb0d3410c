"""Frames of a stack for the live view: from the stream of an Isotherm, or put together from the answers of a Heat."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from isotherm import errors
from isotherm.cli.remote import forms
from isotherm.cli.remote.contents import RemoteEvents, RemoteResources
from isotherm.cli.remote.session import NotServed
from isotherm.cli.remote.stacks import StackAddresses
from isotherm.engine.queries.follow import Frame, ResourceLine
from isotherm.states import ENDED, Action, NodeState, OperationState, Status

Data = dict[str, Any]
# Between two looks at a Heat, before a cut stream is opened again, and the longest time without a look at events.
_PAUSE_S = 1.0
# Failures in a row after which the reader gives up.
_ATTEMPTS = 5
# Most resources of a frame that a service sends.
_MOST_LINES = 500


class RemoteFollower:
    """Follows one stack of a service: frames are read beside the caller, who gets the newest one at any time."""

    def __init__(self, finder: StackAddresses, stack_id: str, last_event: Any = 0) -> None:
        self._finder = finder
        self._stack_id = stack_id
        self._events = RemoteEvents(finder)
        # The last event before the operation, where events do not name their operation.
        self._last_event = last_event
        self._lines = -1
        self._reading: asyncio.Task[None] | None = None
        self._newest: asyncio.Future[Frame] | None = None
        self._came_at = self._asked_at = 0.0
        self._has_news = True

    async def frame(self, lines: int) -> Frame:
        """Return the newest frame, with the time of now."""
        if self._reading is None or lines != self._lines:
            await self.close()
            self._lines = lines
            self._newest = asyncio.get_running_loop().create_future()
            self._reading = asyncio.create_task(self._read(lines))
        assert self._newest is not None
        waited: set[asyncio.Future[Any]] = {self._reading, self._newest}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        if not self._newest.done() or self._reading.done():
            # It ends with an error only, or with the operation.
            self._reading.result()
        frame = self._newest.result()
        return frame if frame.ended else replace(frame, at=frame.at + time.monotonic() - self._came_at)

    async def events(self, after: int, depth: int = 0) -> list[Data]:
        """Return the next events. The service is asked when there was a frame, and once in a while."""
        now = time.monotonic()
        if not self._has_news and now < self._asked_at + _PAUSE_S:
            return []
        self._asked_at, self._has_news = now, False
        found = await self._events.list(self._stack_id, after=after or self._last_event, depth=depth)
        self._has_news = bool(found)
        return found

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._reading = None

    def _take(self, frame: Frame) -> None:
        assert self._newest is not None
        if self._newest.done():
            self._newest = asyncio.get_running_loop().create_future()
        self._newest.set_result(frame)
        self._came_at, self._has_news = time.monotonic(), True

    async def _read(self, lines: int) -> None:
        """Take frames until the operation has ended. Come again when the stream is cut."""
        failed = 0
        while True:
            try:
                async for frame in self._stream(lines):
                    failed = 0
                    self._take(frame)
                    if frame.ended:
                        return None
            except NotServed:
                return await self._look_again_and_again()
            except errors.NotFound:
                raise
            except errors.UserError:
                failed += 1
                if failed > _ATTEMPTS:
                    raise
            await asyncio.sleep(_PAUSE_S)

    async def _stream(self, lines: int) -> AsyncIterator[Frame]:
        path = await self._finder.path(self._stack_id) + "/follow"
        async with contextlib.aclosing(self._finder.session.stream(path, lines=min(lines, _MOST_LINES))) as messages:
            async for kind, data in messages:
                if kind == "frame":
                    yield forms.frame(data)

    async def _look_again_and_again(self) -> None:
        while True:
            frame = await heat_frame(self._finder, self._stack_id)
            self._take(frame)
            if frame.ended:
                return
            await asyncio.sleep(_PAUSE_S)


async def heat_frame(finder: StackAddresses, stack_id: str) -> Frame:
    """Return a stack of a Heat as a frame. Heat tells neither what a resource waits for nor when it began."""
    project = await finder.session.project()
    stack = forms.stack(await finder.read(stack_id), project)
    gone = stack["deletion_time"] is not None
    resources = [] if gone else await RemoteResources(finder).list(stack_id)
    lines = [_line(number, one) for number, one in enumerate(resources)]
    counts = Counter(line.state for line in lines)
    began = _seconds(stack["updated_time"] or stack["creation_time"])
    now = time.time()
    ended = stack["status"] != Status.IN_PROGRESS.name
    failures = [(one["resource_name"], one["resource_status_reason"]) for one in resources
                if one["resource_status"].endswith("_FAILED")]
    phase = OperationState.UPDATING if not ended else (
        OperationState.COMPLETE if stack["status"] == Status.COMPLETE.name else OperationState.FAILED)
    left = sum(number for state, number in counts.items() if state not in ENDED)
    return Frame(now, stack, phase, began, now if ended else None, left, counts, lines, True, failures)


def _line(number: int, one: Data) -> ResourceLine:
    action, _, status = one["resource_status"].partition("_")
    state = NodeState[one["state"]]
    return ResourceLine(number, one["resource_name"], one["resource_type"], state, Action[action], Status[status], False,
                        True, state is not NodeState.PENDING, one["resource_status_reason"], one["requires"])


def _seconds(text: str | None) -> float:
    return time.time() if not text else datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
