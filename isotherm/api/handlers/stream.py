"""Streams events as server-sent events, which Heat's API does not have.

A client that reconnects with the number of its last event, in `Last-Event-ID` (as browsers do) or as the parameter `after`,
misses nothing. While nothing happens, a comment is sent as a heartbeat.

Token, roles and policy are checked again at each heartbeat: the stream ends when the caller may no longer read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from isotherm.api.http import faults, responses
from isotherm.api.request.call import Call
from isotherm.engine.queries.feed import (
    Feed,
    FeedClosed,
    FeedEvent,
    ReaderTooSlow,
    StreamOwner,
    Subscription,
    TooManyStreams,
)

HEARTBEAT_S = 15.0
# How long a client may leave sent data unread before it is disconnected.
PATIENCE_S = 60.0
# How long a client waits before it reconnects.
RETRY_MS = 1000
_HEADERS = {**responses.SAFE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_AGAIN = "Reconnect with the number of the last event that you received."


async def of_stack(call: Call) -> Response:
    """Stream the events of a stack and its nested stacks."""
    stack = await call.stack(deleted=True)
    return await _stream(call, Subscription(call.project, stack["id"]))


async def of_project(call: Call) -> Response:
    return await _stream(call, Subscription(call.project))


async def _stream(call: Call, subscription: Subscription) -> Response:
    feed, events = await subscribed(call, subscription, after(call))
    return EventStream(_lines(_checked(events, call), feed.last))


async def subscribed(
    call: Call, subscription: Subscription, after_id: int | None
) -> tuple[Feed, AsyncGenerator[list[FeedEvent], None]]:
    """Return the feed, and the events of a new reader of it. Raises a fault if there may be no more readers."""
    feed = call.service.feed
    if feed is None:
        raise faults.Fault(503, "This process does not stream events.")
    settings, caller = call.service.settings, call.caller
    events = feed.read(subscription, after_id, (
        StreamOwner("Project", caller.project, settings.max_event_streams_per_project),
        StreamOwner("User", caller.user_id, settings.max_event_streams_per_user)))
    try:
        await anext(events)  # a refusal comes before the response begins
    except TooManyStreams as error:
        raise faults.Fault(429, f"Request limit exceeded: {error}", "RequestLimitExceeded", {"Retry-After": "5"}) from error
    return feed, events


def after(call: Call) -> int | None:
    """Return the number of the last event that the client has; None if it gave none."""
    given = call.request.headers.get("last-event-id") or call.query.get("after")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise faults.bad_request("Last-Event-ID must be the number of an event.", "ValueError")
    return int(given)


async def _checked(events: AsyncGenerator[list[FeedEvent], None], call: Call) -> AsyncGenerator[list[FeedEvent], None]:
    """Pass on events and heartbeats. Raise a fault when the caller may no longer read them.

    Every event is passed on within one heartbeat of a check, however many events there are.
    """
    clock = asyncio.get_running_loop().time
    checked = clock()
    async with aclosing(_with_heartbeat(events)) as beating:
        async for found in beating:
            if not found or clock() - checked >= HEARTBEAT_S:
                await call.check_again()
                checked = clock()
            yield found


async def _lines(events: AsyncGenerator[list[FeedEvent], None], now: int) -> AsyncGenerator[bytes, None]:
    """Yield the text of the stream. It begins with `ready` and the number of the newest event."""
    yield message("ready", {"last_event_id": now}, retry=RETRY_MS)
    try:
        async with aclosing(events):
            async for found in events:
                yield b"".join(message("event", one.event, one.id) for one in found) if found else b": still here\n\n"
    except faults.Fault as fault:
        yield message("cut", {"reason": f"{fault} {_AGAIN}"})
    except ReaderTooSlow:
        yield message("cut", {"reason": f"The client reads too slowly. {_AGAIN}"})
    except FeedClosed:
        yield message("cut", {"reason": f"The service is stopping. {_AGAIN}"})


async def _with_heartbeat(events: AsyncGenerator[list[FeedEvent], None]) -> AsyncGenerator[list[FeedEvent], None]:
    """Yield the events, and an empty list after each HEARTBEAT_S without events."""
    waiting: asyncio.Future[list[FeedEvent]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({waiting}, timeout=HEARTBEAT_S)
            if not done:
                yield []
                continue
            found, waiting = waiting.result(), None
            if found:
                yield found
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await events.aclose()


def message(kind: str, data: Any, id_: int | None = None, retry: int | None = None) -> bytes:
    named = "" if id_ is None else f"id: {id_}\n"
    again = "" if retry is None else f"retry: {retry}\n"
    return f"{named}event: {kind}\n{again}data: ".encode() + msgspec.json.encode(data) + b"\n\n"


class EventStream(Response):
    """A response that sends lines until the client disconnects, stops reading for PATIENCE_S, or the lines end."""

    media_type = "text/event-stream"

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        self._lines = lines
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        gone = asyncio.ensure_future(_until_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, gone):
                task.cancel()
            outcome, _ = await asyncio.gather(sending, gone, return_exceptions=True)
            await self._lines.aclose()
        if isinstance(outcome, Exception) and not isinstance(outcome, TimeoutError | OSError):
            raise outcome

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for chunk in self._lines:
            async with asyncio.timeout(PATIENCE_S):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
