"""Runs the engine inside the command, on the home.

`operate` requests an operation and drives it to its end: the command is the worker. It also drives all other operations in
the home, including those of a killed command.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from isotherm.cli.client import home, live
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Accepted, Orchestrator
from isotherm.engine.process.embedded import Embedded


def operate(printer: console.Printer, name: str, ask: Callable[[Orchestrator], Awaitable[Accepted]]) -> int:
    """Request an operation and drive it to its end; return the exit code."""

    async def begin(engine: Embedded) -> live.Followed:
        with printer.busy(f"planning {name}"):
            accepted = await ask(engine.orchestrator)
        return live.Followed(name, accepted.stack_id, accepted.operation_id)

    return _run(printer, begin)


def watch(printer: console.Printer, name: str) -> int:
    """Drive the operation in progress on the stack to its end; return the exit code."""

    async def begin(engine: Embedded) -> live.Followed:
        stack = await engine.orchestrator.stacks.show(name)
        return live.Followed(stack["stack_name"], stack["id"])

    return _run(printer, begin)


def _run(printer: console.Printer, begin: Callable[[Embedded], Awaitable[live.Followed]]) -> int:
    interrupts = _Interrupts()

    async def work(engine: Embedded) -> int:
        return await _drive(engine, printer, await begin(engine), interrupts)

    try:
        return home.use(Embedded, work)
    except asyncio.CancelledError:
        if interrupts.number < 2:
            raise
        # The next worker takes over what was in progress.
        raise KeyboardInterrupt from None


async def _drive(engine: Embedded, printer: console.Printer, followed: live.Followed, interrupts: _Interrupts) -> int:
    interrupts.catch()
    async with engine.driving():
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
