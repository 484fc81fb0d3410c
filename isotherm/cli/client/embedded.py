"""Requests operations and shows them to their end.

The engine of the home runs inside of the command: `operate` drives the operation that it requested, and all others in the
home, including those of a killed command. With a service (`--remote`), its engines drive, and the command only shows.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import nullcontext

from isotherm.cli.client import engines, home, live, port
from isotherm.cli.show import console, words
from isotherm.engine.orchestrator import Accepted


def operate(printer: console.Printer, name: str, ask: Callable[[port.OrchestratorPort], Awaitable[Accepted]]) -> int:
    """Request an operation and show it to its end; return the exit code."""

    async def begin(engine: port.EnginePort) -> live.Followed:
        with printer.busy(f"planning {name}"):
            accepted = await ask(engine.orchestrator)
        return live.Followed(name, accepted.stack_id, accepted.operation_id, driven_here=not home.remote())

    return _run(printer, begin)


def work(printer: console.Printer, name: str) -> int:
    """Drive the operation in progress on the stack to its end; return the exit code."""

    async def begin(engine: port.EnginePort) -> live.Followed:
        stack = await engine.orchestrator.stacks.show(name)
        return live.Followed(stack["stack_name"], stack["id"], driven_here=not home.remote())

    return _run(printer, begin)


def watch(printer: console.Printer, name: str) -> int:
    """Show the operation in progress on the stack, which others drive, to its end; return the exit code."""

    async def begin(engine: port.EnginePort) -> live.Followed:
        stack = await engine.orchestrator.stacks.show(name)
        driven = stack["status"] != "IN_PROGRESS" or await engine.is_driven()
        if not printer.as_json:
            printer.say(lambda: words.undriven_notice({**stack, "driven": driven}))
        return live.Followed(stack["stack_name"], stack["id"], driven_here=False)

    return _run(printer, begin)


def _run(printer: console.Printer, begin: Callable[[port.EnginePort], Awaitable[live.Followed]]) -> int:
    interrupts = _Interrupts()

    async def whole(engine: port.EnginePort) -> int:
        return await _drive(engine, printer, await begin(engine), interrupts)

    try:
        return engines.use(whole)
    except asyncio.CancelledError:
        if interrupts.number < 2:
            raise
        # The next worker takes over what was in progress.
        raise KeyboardInterrupt from None


async def _drive(
    engine: port.EnginePort, printer: console.Printer, followed: live.Followed, interrupts: _Interrupts
) -> int:
    interrupts.catch()
    async with engine.driving() if followed.driven_here else nullcontext():
        frame = await live.follow(engine.follow(followed.stack_id), printer, followed, interrupts.stopped)
    return await live.conclude(engine, printer, followed, frame)


class _Interrupts:
    """Handles Ctrl-C: the first lets running steps finish, the second stops at once. Neither loses work."""

    def __init__(self) -> None:
        self.stopped = asyncio.Event()
        self.number = 0

    def catch(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def interrupt() -> None:
            self.number += 1
            self.stopped.set()
            if self.number > 1 and task is not None:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, interrupt)
