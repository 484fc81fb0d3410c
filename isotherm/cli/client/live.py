"""Shows a stack until its operation ends: a live view on a terminal, a line per event in a pipe, or JSON lines.

It polls a few times per second, and less often if a poll takes long.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.text import Text

from isotherm import loading
from isotherm.cli import codes
from isotherm.cli.client import home, port
from isotherm.cli.show import console as console_show
from isotherm.cli.show import output_table, words
from isotherm.engine.queries.follow import Frame

INTERVAL_S = 0.2
# The first poll comes early, for operations that end at once.
FIRST_INTERVAL_S = 0.02
# How many events back the end of the operation is searched for.
_LAST_EVENTS = 1000
# Maximum fraction of the time that polling takes.
SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Followed:
    """The stack that is shown, and the operation that the command requested, if any."""

    name: str
    stack_id: str
    operation_id: str | None = None
    # Whether this process works on the operation; otherwise it only shows what others do.
    driven_here: bool = True

    def is_overtaken(self, frame: Frame) -> bool:
        return bool(self.operation_id) and frame.stack["operation_id"] != self.operation_id


async def follow(
    following: port.FollowerPort, printer: console_show.Printer, followed: Followed, stopped: asyncio.Event
) -> Frame:
    """Show the stack until its operation ends or `stopped` is set; return the last frame."""
    if printer.as_json or not sys.stdout.isatty():
        return await _print_events(following, printer, followed, stopped)
    return await _draw_live(following, printer, stopped)


async def _draw_live(following: port.FollowerPort, printer: console_show.Printer, stopped: asyncio.Event) -> Frame:
    # Loaded here: a command in a pipe draws nothing.
    live_view = loading.load("isotherm.cli.show.live_view")
    console, drawing, pace = printer.out, live_view.LiveView(), _Pace(stopped)
    with loading.load("rich.live:Live")(console=console, auto_refresh=False, vertical_overflow="crop") as shown:
        while True:
            height = console.size.height - 1
            frame = await following.frame(max(height - live_view.FRAME_LINES, 3))
            shown.update(narrowed(drawing.draw(frame, height, home.last_warning()), console), refresh=True)
            if frame.ended or await pace.pause():
                return frame


def narrowed(drawn: RenderableType, console: Console) -> RenderableType:
    """Leave columns free, without blanks in them, for two ^C that a terminal echoes: they would break the view."""
    return Constrain(drawn, max(console.size.width - 4, 1))


async def _print_events(
    following: port.FollowerPort, printer: console_show.Printer, followed: Followed, stopped: asyncio.Event
) -> Frame:
    """Print a line per event. Skip the events of earlier operations, if events name theirs."""
    last, begun, pace = 0, False, _Pace(stopped)
    say = _json_line if printer.as_json else _text_line
    while True:
        frame = await following.frame(0)
        first = followed.operation_id or frame.stack["operation_id"]
        while events := await following.events(last, home.nested()):
            last = events[-1]["id"]
            for event in events:
                begun = begun or event["operation_id"] == first
                if begun:
                    say(event)
            sys.stdout.flush()
        if frame.ended or await pace.pause():
            return frame


@dataclass(slots=True)
class _Pace:
    """The interval between polls: short at first, then regular, and longer if a poll takes long."""

    stopped: asyncio.Event
    interval_s: float = FIRST_INTERVAL_S
    looked_at: float = field(default_factory=time.monotonic)

    async def pause(self) -> bool:
        """Wait until the next poll; return True if the user stopped it."""
        cost = time.monotonic() - self.looked_at
        try:
            async with asyncio.timeout(max(self.interval_s, cost / SHARE)):
                await self.stopped.wait()
        except TimeoutError:
            self.interval_s = min(self.interval_s * 1.5, INTERVAL_S)
            self.looked_at = time.monotonic()
            return False
        return True


def _json_line(event: Mapping[str, Any]) -> None:
    sys.stdout.write(console_show.compact({"event": event}) + "\n")


def _text_line(event: Mapping[str, Any]) -> None:
    name = words.path(event, "stack")
    more = event["resource_status_reason"] or (event["physical_resource_id"] if event["resource_name"] else "") or ""
    line = f"{event['event_time']}  {event['resource_status']:<20} {name}  {more}"
    sys.stdout.write(console_show.clean(line.rstrip()) + "\n")


async def conclude(engine: port.EnginePort, printer: console_show.Printer, followed: Followed, frame: Frame) -> int:
    """Print the outcome and the next command to run; return the exit code."""
    code = _code(followed, frame)
    if printer.as_json:
        stack = await engine.orchestrator.stacks.show(followed.stack_id)
        ending = {"stack": stack, "outputs": await _outputs(engine, frame), "seconds": round(_spent_s(frame), 3)}
        sys.stdout.write(console_show.compact(ending) + "\n")
        return code
    failure = await _failure(engine, followed) if followed.is_overtaken(frame) else ""
    printer.say(lambda: _ending(followed, frame, failure))
    outputs = await _outputs(engine, frame)
    others = await engine.in_progress([followed.stack_id])
    printer.say(lambda: _outputs_and_others(outputs, others))
    return code


async def _failure(engine: port.EnginePort, followed: Followed) -> str:
    """Return why the requested operation failed, if it failed before another superseded it; else ""."""
    for event in await engine.orchestrator.events.list(followed.stack_id, last=_LAST_EVENTS):
        ended = event["operation_id"] == followed.operation_id and not event["resource_name"]
        if ended and event["resource_status"].endswith("_FAILED"):
            return f"{event['resource_status']}: {event['resource_status_reason']}"
    return ""


def _code(followed: Followed, frame: Frame) -> int:
    if not frame.ended:
        return codes.INTERRUPTED
    well = frame.stack["status"] == "COMPLETE" and not followed.is_overtaken(frame)
    return codes.OK if well else codes.FAILED


async def _outputs(engine: port.EnginePort, frame: Frame) -> list[dict[str, Any]]:
    if not frame.ended or frame.stack["action"] == "DELETE":
        return []
    return await engine.orchestrator.outputs.list(str(frame.stack["id"]))


def _outputs_and_others(outputs: list[dict[str, Any]], others: list[str]) -> Iterator[RenderableType]:
    if outputs:
        yield Text("")
        yield console_show.heading("Outputs")
        yield console_show.indent(output_table.table(outputs))
    if others:
        yield Text("")
        yield Text(f"Still in progress: {console_show.clean(words.some(others, len(others)))}. "
                   f"To continue: isotherm work {console_show.clean(others[0])}", "dim")


def _ending(followed: Followed, frame: Frame, failure: str) -> Iterator[RenderableType]:
    name, stack = console_show.clean(followed.name), frame.stack
    yield Text("")
    if not frame.ended:
        yield from _stopped(followed, frame)
        return
    spent = words.duration(_spent_s(frame))
    well = stack["status"] == "COMPLETE"
    sign = ("✓ ", "bold green") if well and not followed.is_overtaken(frame) else ("✗ ", "bold red")
    yield Text.assemble(sign, (name, "bold"), " ", words.status(stack["stack_status"]), f" in {spent}")
    if not well:
        yield console_show.indent(console_show.text(stack["stack_status_reason"], "red"))
    if failure:
        yield console_show.indent(console_show.text(f"Cause: {failure}", "red"))
    elif followed.is_overtaken(frame):
        yield console_show.indent(
            Text("Another operation superseded this one. See `isotherm events`.", "yellow")
        )


def _stopped(followed: Followed, frame: Frame) -> Iterator[RenderableType]:
    name, status = console_show.clean(followed.name), frame.stack["stack_status"]
    if followed.driven_here:
        yield Text(f"Stopped. {name} remains {status}; no work is lost.", "yellow")
        yield Text(f"To continue: isotherm work {name}")
        return
    where = "The operation goes on at the service." if home.remote() else "If an engine runs, it goes on."
    yield Text(f"Stopped watching {name}, which is {status}. {where}", "yellow")
    yield Text(f"To watch again: isotherm watch {name}")


def _spent_s(frame: Frame) -> float:
    return (frame.ended_at or frame.at) - frame.began_at
