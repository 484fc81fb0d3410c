"""The parent of several workers: starts them, replaces whoever dies, renews them one by one, and ends them in good order.

Workers are fresh processes of the same command. They share nothing but the database and, if they are APIs, one listening
socket, which the parent keeps open: while one of them is renewed, whoever connects waits for another, and nobody is turned
away. The parent itself does none of the work.

SIGTERM or Ctrl-C: all end in good order; the second one hurries them. SIGHUP: they are renewed one after the other, each
new one being ready before the old one is ended, with the code and the options as they are then; if a new one does not
become ready, the others stay as they are. At a terminal SIGHUP means that the terminal has gone, and all end. If the
parent is killed, its workers end by themselves, in good order.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable

from isotherm import errors, logs
from isotherm.cli import codes
from isotherm.cli.service import supervised
from isotherm.cli.service.workers import WorkerPlan, WorkerProcess
from isotherm.config import Settings

log = logging.getLogger(__name__)

# How long a worker that takes another's place may take until it is ready; and to end, if it does not become so.
READY_S, HURRY_S = 60.0, 5.0
# Before one that died is replaced: at first nothing, then longer and longer, unless it had lived for so long.
WAIT_S, LONGEST_S, LONG_LIFE_S = 0.5, 30.0, 60.0


class WorkerSlot:
    """One of the N: there is always a worker in it, and two while it is renewed."""

    def __init__(self, start: Callable[[], Awaitable[WorkerProcess]]) -> None:
        self._start = start
        self._child: WorkerProcess | None = None
        self._wait_s = 0.0

    async def keep(self) -> None:
        """Have a worker there, until cancelled."""
        while True:
            try:
                child = await self.fill()
            except OSError as error:
                log.error("a worker cannot be started", extra={"error": str(error), "in_s": self._longer(0.0)})
                await asyncio.sleep(self._wait_s)
                continue
            code = await child.ended()
            if self._child is child:
                self._child = None
                log.error("a worker died; another takes its place", extra={
                    "pid": child.process.pid, "code": code, "in_s": self._longer(child.age_s)})
                await asyncio.sleep(self._wait_s)

    def _longer(self, age_s: float) -> float:
        """How long to wait now: the longer, the oftener one died young."""
        self._wait_s = 0.0 if age_s > LONG_LIFE_S else min(LONGEST_S, max(WAIT_S, 2 * self._wait_s))
        return self._wait_s

    async def fill(self) -> WorkerProcess:
        return self._child or await self._filled()

    async def _filled(self) -> WorkerProcess:
        started = await self._start()
        if self._child is not None:
            # Meanwhile it was renewed.
            await started.end()
        self._child = self._child or started
        return self._child

    async def renew(self) -> bool:
        """Another takes the place of the one that is there, once it is ready. False: it stays as it was."""
        new = await self._start()
        if not await _in_time(new.is_ready()):
            log.error("a new worker did not become ready; the old ones stay", extra={"pid": new.process.pid})
            await new.end(HURRY_S)
            return False
        old, self._child = self._child, new
        if old is not None:
            await old.end()
        return True

    async def empty(self) -> None:
        if self._child is not None:
            await self._child.end()


async def _in_time(ready: Awaitable[bool]) -> bool:
    try:
        return await asyncio.wait_for(ready, READY_S)
    except TimeoutError:
        return False


class Supervisor:
    """All of them."""

    def __init__(self, plan: WorkerPlan) -> None:
        self._plan = plan
        self._all: set[WorkerProcess] = set()
        self._slots: dict[WorkerSlot, asyncio.Task[None]] = {}
        self._stopped = asyncio.Event()
        self._renewal = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> int:
        """Until it is told to end; `ready` is called when all are there for the first time. The number is an exit code."""
        self._catch()
        work, stop = asyncio.create_task(self._work(ready)), asyncio.create_task(self._stopped.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        supervised.notify("STOPPING=1")
        for task in (work, stop, *self._slots.values()):
            task.cancel()
        await asyncio.gather(*(child.end() for child in self._all))
        return codes.OK if self._stopped.is_set() else await work

    def _catch(self) -> None:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            if self._stopped.is_set():
                for child in self._all:
                    child.signal(signal.SIGTERM)
            self._stopped.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        at_terminal = sys.stdin is not None and sys.stdin.isatty()
        loop.add_signal_handler(signal.SIGHUP, stop if at_terminal else self._renewal.set)

    async def _work(self, ready: Callable[[], None]) -> int:
        slots = [WorkerSlot(self._start) for _ in range(self._plan.number())]
        for child in [await slot.fill() for slot in slots]:
            if not await child.is_ready():
                # It has said why. Later ones are replaced; if the first do not even begin, somebody should know.
                return max(await child.ended(), codes.WRONG)
        self._slots = {slot: asyncio.create_task(slot.keep()) for slot in slots}
        ready()
        while True:
            supervised.notify("READY=1")
            await self._renewal.wait()
            self._renewal.clear()
            supervised.notify(supervised.reloading())
            await self._renew()

    async def _start(self) -> WorkerProcess:
        child = await self._plan.start()
        self._all = {one for one in self._all if one.is_alive} | {child}
        return child

    async def _renew(self) -> None:
        try:
            number = self._plan.number()
        except errors.UserError as error:
            log.error("the options cannot be read; all workers stay as they are", extra={"error": str(error)})
            return
        log.info("workers are renewed, one after the other", extra={"number": number})
        for slot in list(self._slots)[number:]:
            self._slots.pop(slot).cancel()
            await slot.empty()
        for slot in list(self._slots):
            if not await slot.renew():
                return
        while len(self._slots) < number:
            slot = WorkerSlot(self._start)
            self._slots[slot] = asyncio.create_task(slot.keep())
        log.info("all workers are new", extra={"number": number})


def run(plan: WorkerPlan, settings: Settings, ready: Callable[[], None]) -> int:
    """Be the parent of the crew, until somebody ends it. The number is an exit code."""
    with logs.configured(settings):
        return asyncio.run(Supervisor(plan).run(ready))
