"""Streams the changes of one stack, as server-sent events, a few times a second at most.

`of_stack` sends changes of counts, boxes and nodes, for the page; `follow` sends whole frames, for the command line.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from isotherm import errors
from isotherm.api.handlers import stream
from isotherm.api.http import faults
from isotherm.api.overview import arguments
from isotherm.api.request.call import Call
from isotherm.engine.overview.live import StreamedView
from isotherm.engine.queries.feed import Feed, FeedClosed, FeedEvent, ReaderTooSlow, Subscription

# The shortest time between two deltas, and the time after which a stack is looked at without an event.
PAUSE_S, LOOK_S = 0.25, 1.0
# A look takes at most one part in so many of the time, unless the pause would be longer than this.
PARTS, LONGEST_PAUSE_S = 20, 2.0
# The further pause after a request to read the view again: in a burst, each of these costs a whole view.
RESYNC_S = 1.0
# Most resources of a frame.
MOST_LINES = 500
_AGAIN = "Come again."


async def of_stack(call: Call) -> Response:
    """Stream the changes of a stack."""
    query = arguments.graph(call) if call.flag("boxes", True) else None
    after = stream.after(call)
    stack = await call.stack(deleted=True)
    feed, events = await stream.subscribed(call, Subscription(call.project, stack["id"]), after)
    view, ready = await call.orchestrator.live.begin(stack["id"], query)
    return stream.EventStream(_ended_politely(_lines(call, feed, events, view, ready)))


async def follow(call: Call) -> Response:
    """Stream a stack as frames: its operation, counts, and the resources that matter most, each time that they change."""
    lines = arguments.number(call, "lines", 50, MOST_LINES, least=0)
    stack = await call.stack(deleted=True)
    feed, events = await stream.subscribed(call, Subscription(call.project, stack["id"]), None)
    return stream.EventStream(_ended_politely(_frames(call, feed, events, stack["id"], lines)))


async def _frames(
    call: Call, feed: Feed, events: AsyncGenerator[list[FeedEvent], None], stack_id: str, lines: int
) -> AsyncGenerator[bytes, None]:
    follower = call.orchestrator.live.follower(stack_id)
    clock = asyncio.get_running_loop().time
    checked = sent_at = clock()
    last = None
    async with aclosing(_looks(events, stack_id)) as looks:
        while True:
            frame = await follower.frame(lines)
            if last is None or replace(frame, at=last.at) != last:
                last, sent_at = frame, clock()
                yield stream.message("frame", frame.as_data(), feed.last, retry=stream.RETRY_MS)
            elif clock() - sent_at >= stream.HEARTBEAT_S:
                sent_at = clock()
                yield b": still here\n\n"
            if clock() - checked >= stream.HEARTBEAT_S:
                await call.check_again()
                checked = clock()
            if await anext(looks, None) is None:
                return


async def _lines(
    call: Call, feed: Feed, events: AsyncGenerator[list[FeedEvent], None], view: StreamedView, ready: dict[str, Any]
) -> AsyncGenerator[bytes, None]:
    yield stream.message("ready", {**ready, "version": feed.last, "last_event_id": feed.last}, retry=stream.RETRY_MS)
    clock = asyncio.get_running_loop().time
    checked = sent_at = clock()
    async with aclosing(_looks(events, view.stack_id)) as looks:
        async for names, last in looks:
            if clock() - checked >= stream.HEARTBEAT_S:
                await call.check_again()
                checked = clock()
            began = clock()
            found = await call.orchestrator.live.delta(view, names)
            took_s = clock() - began
            if found is not None:
                sent_at = clock()
                yield stream.message(*found, last or feed.last)
                if found[0] == "resync":
                    await asyncio.sleep(RESYNC_S)
            elif clock() - sent_at >= stream.HEARTBEAT_S:
                sent_at = clock()
                yield b": still here\n\n"
            await asyncio.sleep(min(took_s * PARTS, LONGEST_PAUSE_S))


async def _ended_politely(lines: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the lines, and at their end a message that says why."""
    try:
        async with aclosing(lines):
            async for line in lines:
                yield line
    except (faults.Fault, errors.UserError) as error:
        yield stream.message("cut", {"reason": f"{error} {_AGAIN}"})
    except errors.Unavailable:
        yield stream.message("cut", {"reason": f"The database does not answer. {_AGAIN}"})
    except ReaderTooSlow:
        yield stream.message("cut", {"reason": f"The client reads too slowly. {_AGAIN}"})
    except FeedClosed:
        yield stream.message("cut", {"reason": f"The service is stopping. {_AGAIN}"})


async def _looks(
    events: AsyncGenerator[list[FeedEvent], None], stack_id: str
) -> AsyncGenerator[tuple[set[str], int], None]:
    """Yield the resources with new events, and the last event: at least after LOOK_S, at most once in PAUSE_S."""
    waiting: asyncio.Future[list[FeedEvent] | None] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events, None))
            await asyncio.wait({waiting}, timeout=LOOK_S)
            names: set[str] = set()
            last = 0
            if waiting.done():
                found, waiting = waiting.result(), None
                if found is None:
                    return
                names = {one.resource_of(stack_id) for one in found} - {""}
                last = found[-1].id if found else 0
            yield names, last
            await asyncio.sleep(PAUSE_S)
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await events.aclose()
