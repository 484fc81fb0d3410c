"""Runs the engine inside the command, on the home folder: to ask, and to make things happen.

`operate` asks for an operation and drives it, live, to its end: the command is the worker. Whatever else is under way in
the home, also what a killed command left, is driven along with it.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from isotherm.cli import home, live, show
from isotherm.engine.embedded import Embedded
from isotherm.engine.orchestrator import Accepted, Orchestrator


def operate(terminal: show.Terminal, name: str, ask: Callable[[Orchestrator], Awaitable[Accepted]]) -> int:
    """Ask for an operation and drive it to its end; the answer is the exit code."""

    async def work(engine: Embedded) -> int:
        with terminal.busy(f"planning {name}"):
            accepted = await ask(engine.orchestrator)
        return await _drive(engine, terminal, live.Watched(name, accepted.stack_id, accepted.operation_id))

    return home.use(Embedded, work)


def watch(terminal: show.Terminal, name: str) -> int:
    """Drive whatever is under way on the stack to its end."""

    async def work(engine: Embedded) -> int:
        stack = await engine.orchestrator.show(name)
        return await _drive(engine, terminal, live.Watched(stack["stack_name"], stack["id"]))

    return home.use(Embedded, work)


async def _drive(engine: Embedded, terminal: show.Terminal, watched: live.Watched) -> int:
    stopped = asyncio.Event()
    _on_interrupt(stopped)
    async with engine.driving():
        frame = await live.follow(engine.follow(watched.stack_id), terminal, watched, stopped)
    return await live.conclude(engine, terminal, watched, frame)


def _on_interrupt(stopped: asyncio.Event) -> None:
    """The first Ctrl-C ends the command in good order; the second one ends it at once, which does no harm either."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def interrupt() -> None:
        if stopped.is_set() and task is not None:
            task.cancel()
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupt)

