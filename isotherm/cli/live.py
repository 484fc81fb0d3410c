"""Shows a stack until its operation has ended: a moving picture on a terminal, a line per event in a pipe, JSON lines.

It looks a few times a second, and less often when looking takes long.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from isotherm.cli import codes, picture, show, words
from isotherm.cli import outputs as outputs_
from isotherm.engine.embedded import Embedded
from isotherm.engine.following import Following, Frame

INTERVAL_S = 0.2
# How far back the end of the operation is looked for.
_LAST_EVENTS = 1000
# Looking may take this part of the time at most.
SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Watched:
    """The stack that is watched, and the operation that was asked for, if one was."""

    name: str
    stack_id: str
    operation_id: str | None = None

    def is_overtaken(self, frame: Frame) -> bool:
        return self.operation_id is not None and frame.stack["operation_id"] != self.operation_id


async def follow(following: Following, terminal: show.Terminal, watched: Watched, stopped: asyncio.Event) -> Frame:
    """Show the stack until what is under way has ended, or somebody has had enough. Answers the last frame."""
    if terminal.as_json or not sys.stdout.isatty():
        return await _tell(following, terminal, watched, stopped)
    return await _paint(following, terminal, stopped)


async def _paint(following: Following, terminal: show.Terminal, stopped: asyncio.Event) -> Frame:
    console, drawing = terminal.out, picture.Picture()
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as shown:
        while True:
            height = console.size.height - 1
            began = time.monotonic()
            frame = await following.look(max(height - picture.FRAME_LINES, 3))
            # Two columns stay free for the ^C that a terminal writes: at the edge it would break the line, and the picture.
            shown.update(Padding(drawing.draw(frame, height), (0, 2, 0, 0)), refresh=True)
            if frame.ended or await _pause(began, stopped):
                return frame


async def _tell(following: Following, terminal: show.Terminal, watched: Watched, stopped: asyncio.Event) -> Frame:
    """A line per event. Those of earlier operations are history, and are skipped."""
    last, begun = 0, False
    say = _json_line if terminal.as_json else _text_line
    while True:
        began = time.monotonic()
        frame = await following.look(0)
        first = watched.operation_id or frame.stack["operation_id"]
        while events := await following.events(last):
            last = events[-1]["id"]
            for event in events:
                begun = begun or event["operation_id"] == first
                if begun:
                    say(event)
            sys.stdout.flush()
        if frame.ended or await _pause(began, stopped):
            return frame


async def _pause(began: float, stopped: asyncio.Event) -> bool:
    """Wait before the next look; True if that is not wanted any more."""
    cost = time.monotonic() - began
    try:
        async with asyncio.timeout(max(INTERVAL_S, cost / SHARE)):
            await stopped.wait()
    except TimeoutError:
        return False
    return True


def _json_line(event: Mapping[str, Any]) -> None:
    sys.stdout.write(show.compact({"event": event}) + "\n")


def _text_line(event: Mapping[str, Any]) -> None:
    name = event["resource_name"] or "stack"
    more = event["resource_status_reason"] or (event["physical_resource_id"] if event["resource_name"] else "") or ""
    line = f"{event['event_time']}  {event['resource_status']:<20} {name}  {more}"
    sys.stdout.write(show.clean(line.rstrip()) + "\n")


async def conclude(engine: Embedded, terminal: show.Terminal, watched: Watched, frame: Frame) -> int:
    """Say how it ended, and what to do next; the answer is the exit code."""
    stack = await engine.orchestrator.show(watched.stack_id)
    outputs = await _outputs(engine, stack)
    code = _code(watched, frame)
    if terminal.as_json:
        spent = (frame.ended_at or frame.at) - frame.began_at
        sys.stdout.write(show.compact({"stack": stack, "outputs": outputs, "seconds": round(spent, 3)}) + "\n")
        return code
    others = await engine.in_progress([watched.stack_id])
    failure = await _failure(engine, watched) if watched.is_overtaken(frame) else ""
    terminal.say(lambda: _conclusion(watched, frame, outputs, others, failure))
    return code


async def _failure(engine: Embedded, watched: Watched) -> str:
    """Why the operation that was asked for failed, if that is how it ended before another took over."""
    for event in await engine.orchestrator.events(watched.stack_id, last=_LAST_EVENTS):
        ended = event["operation_id"] == watched.operation_id and not event["resource_name"]
        if ended and event["resource_status"].endswith("_FAILED"):
            return f"{event['resource_status']}: {event['resource_status_reason']}"
    return ""


def _code(watched: Watched, frame: Frame) -> int:
    if not frame.ended:
        return codes.INTERRUPTED
    well = frame.stack["status"] == "COMPLETE" and not watched.is_overtaken(frame)
    return codes.OK if well else codes.FAILED


async def _outputs(engine: Embedded, stack: Mapping[str, Any]) -> list[dict[str, Any]]:
    if stack["deletion_time"] or stack["action"] == "DELETE":
        return []
    return await engine.orchestrator.outputs(stack["id"])


def _conclusion(
    watched: Watched, frame: Frame, outputs: list[dict[str, Any]], others: list[str], failure: str
) -> Iterator[RenderableType]:
    yield Text("")
    yield from _ending(watched, frame, failure)
    if outputs and frame.ended:
        yield Text("")
        yield show.heading("Outputs")
        yield show.indent(outputs_.table(outputs))
    if others:
        yield Text(f"Still in progress: {show.clean(words.some(others, len(others)))}. "
                   f"To go on: isotherm watch {show.clean(others[0])}", "dim")


def _ending(watched: Watched, frame: Frame, failure: str) -> Iterator[RenderableType]:
    name, stack = show.clean(watched.name), frame.stack
    if not frame.ended:
        yield Text(f"Stopped watching. {name} stays as it is, {stack['stack_status']}; nothing is lost.", "yellow")
        yield Text(f"To go on: isotherm watch {name}")
        return
    spent = words.duration((frame.ended_at or frame.at) - frame.began_at)
    well = stack["status"] == "COMPLETE"
    sign = ("✓ ", "bold green") if well and not watched.is_overtaken(frame) else ("✗ ", "bold red")
    yield Text.assemble(sign, (name, "bold"), " ", words.status(stack["stack_status"]), f" in {spent}")
    if not well:
        yield show.indent(show.text(stack["stack_status_reason"], "red"))
    if failure:
        yield show.indent(show.text(f"This came after {failure}", "red"))
    elif watched.is_overtaken(frame):
        yield show.indent(Text("Not what was asked for: another operation took over, see `isotherm events`.", "yellow"))
