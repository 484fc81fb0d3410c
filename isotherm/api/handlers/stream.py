"""Events as a stream (server-sent events), an extension beside Heat's API: each transition as it happens.

A client that was cut off comes again with the number of the last event that it got, in `Last-Event-ID` (as browsers do by
themselves) or as the parameter `after`, and misses nothing. While nothing happens, a comment tells that the line is alive.

A stream ends with the authority of its reader: token, roles and policy are looked at again with each heartbeat.
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
from isotherm.engine.queries.feed import Closing, Crowded, Holder, Interest, Lost, Told

HEARTBEAT_S = 15.0
# How long a client may let its line be full. Nobody waits for it, but its place is not kept for ever.
PATIENCE_S = 60.0
# What a client waits before it comes again.
RETRY_MS = 1000
_HEADERS = {**responses.SAFE, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_AGAIN = "Come again with the number of the last event that you got."


async def of_stack(call: Call) -> Response:
    """A stack, and all stacks inside it."""
    stack = await call.stack(deleted=True)
    return await _stream(call, Interest(call.project, stack["id"]))


async def of_project(call: Call) -> Response:
    return await _stream(call, Interest(call.project))


async def _stream(call: Call, interest: Interest) -> Response:
    feed = call.service.feed
    if feed is None:
        raise faults.Fault(503, "There is no stream of events here.")
    settings, caller = call.service.settings, call.caller
    events = feed.read(interest, _after(call), (
        Holder("Project", caller.project, settings.max_event_streams_per_project),
        Holder("User", caller.user_id, settings.max_event_streams_per_user)))
    try:
        await anext(events)  # if it is refused, then before the answer begins
    except Crowded as error:
        raise faults.Fault(429, f"Request limit exceeded: {error}", "RequestLimitExceeded", {"Retry-After": "5"}) from error
    return EventStream(_lines(_checked(events, call), feed.last))


def _after(call: Call) -> int | None:
    """The number of the last event that the client has."""
    given = call.request.headers.get("last-event-id") or call.query.get("after")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise faults.bad_request("Last-Event-ID is the number of an event.", "ValueError")
    return int(given)


async def _checked(events: AsyncGenerator[list[Told], None], call: Call) -> AsyncGenerator[list[Told], None]:
    """Pass on events and heartbeats. Raise a fault when the caller may not read them any more.

    No event is passed on later than one heartbeat after a check, however many there are.
    """
    clock = asyncio.get_running_loop().time
    checked = clock()
    async with aclosing(_with_heartbeat(events)) as beating:
        async for found in beating:
            if not found or clock() - checked >= HEARTBEAT_S:
                await call.check_again()
                checked = clock()
            yield found


async def _lines(events: AsyncGenerator[list[Told], None], now: int) -> AsyncGenerator[bytes, None]:
    """The text of the stream. It begins with how far there is something to catch up with."""
    yield _message("ready", {"last_event_id": now}, retry=RETRY_MS)
    try:
        async with aclosing(events):
            async for found in events:
                yield b"".join(_message("event", one.event, one.id) for one in found) if found else b": still here\n\n"
    except faults.Fault as fault:
        yield _message("cut", {"reason": f"{fault} {_AGAIN}"})
    except Lost:
        yield _message("cut", {"reason": f"You read too slowly. {_AGAIN}"})
    except Closing:
        yield _message("cut", {"reason": f"The service stops. {_AGAIN}"})


async def _with_heartbeat(events: AsyncGenerator[list[Told], None]) -> AsyncGenerator[list[Told], None]:
    """The events, and an empty list each time that nothing has come for a while."""
    waiting: asyncio.Future[list[Told]] | None = None
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


def _message(kind: str, data: Any, id_: int | None = None, retry: int | None = None) -> bytes:
    named = "" if id_ is None else f"id: {id_}\n"
    again = "" if retry is None else f"retry: {retry}\n"
    return f"{named}event: {kind}\n{again}data: ".encode() + msgspec.json.encode(data) + b"\n\n"


class EventStream(Response):
    """Sends what comes, until the client goes, takes nothing for too long, or nothing comes any more."""

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
