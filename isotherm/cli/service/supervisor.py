"""The supervisor of several workers: starts them, replaces dead ones, renews them one by one, and stops them.

Workers are new processes of the same command. They share the database and, for the API, one listening socket, which the
supervisor keeps open: while a worker is renewed, connections queue up for the others. The supervisor does no work itself.

| signal | effect |
|---|---|
| SIGTERM, Ctrl-C | All workers shut down gracefully; a second signal stops them at once. |
| SIGHUP | Workers are renewed one by one, with the current code and options. Each new worker is ready before the old one
  stops. If a new worker does not become ready, the remaining old ones stay. |
| SIGHUP on a terminal | The terminal has closed: as SIGTERM. |
| SIGKILL | The workers notice and shut down gracefully. |
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace

from isotherm import errors, logs
from isotherm.cli import codes
from isotherm.cli.service import supervised
from isotherm.cli.service.workers import WorkerPlan, WorkerProcess
from isotherm.config import Settings

log = logging.getLogger(__name__)

# Time for a new worker to become ready; time for it to end if it does not.
READY_S, HURRY_S = 60.0, 5.0
# Pause before a dead worker is replaced: first value, maximum, and the age of a worker after which the pause is reset.
WAIT_S, LONGEST_S, LONG_LIFE_S = 0.5, 30.0, 60.0


class WorkerSlot:
    """Keeps one worker running; two while it is renewed."""

    def __init__(self, start: Callable[[], Awaitable[WorkerProcess]]) -> None:
        self._start = start
        self._child: WorkerProcess | None = None
        self._wait_s = 0.0

    async def keep(self) -> None:
        """Keep a worker running until cancelled."""
        while True:
            try:
                child = await self.fill()
            except OSError as error:
                log.error("worker cannot be started", extra={"error": str(error), "in_s": self._longer(0.0)})
                await asyncio.sleep(self._wait_s)
                continue
            code = await child.ended()
            if self._child is child:
                self._child = None
                log.error("worker died and is replaced", extra={
                    "pid": child.process.pid, "code": code, "in_s": self._longer(child.age_s)})
                await asyncio.sleep(self._wait_s)

    def _longer(self, age_s: float) -> float:
        """Return the pause before the next start: doubled for each worker that died young."""
        self._wait_s = 0.0 if age_s > LONG_LIFE_S else min(LONGEST_S, max(WAIT_S, 2 * self._wait_s))
        return self._wait_s

    async def fill(self) -> WorkerProcess:
        return self._child or await self._filled()

    async def _filled(self) -> WorkerProcess:
        started = await self._start()
        if self._child is not None:
            # A renewal filled the slot meanwhile.
            await started.end()
        self._child = self._child or started
        return self._child

    async def renew(self) -> bool:
        """Replace the worker once its successor is ready. Return False, and keep it, if the successor is not."""
        new = await self._start()
        if not await _in_time(new.is_ready()):
            log.error("new worker did not become ready; old workers stay", extra={"pid": new.process.pid})
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
    """Supervises all workers of a plan."""

    def __init__(self, plan: WorkerPlan) -> None:
        self._plan = plan
        self._all: set[WorkerProcess] = set()
        self._slots: dict[WorkerSlot, asyncio.Task[None]] = {}
        self._stopped = asyncio.Event()
        self._renewal = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> int:
        """Run until stopped; return the exit code. Call `ready` once all workers are ready."""
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
                # The worker printed the reason. The first start must succeed; later deaths are replaced.
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
            log.error("options cannot be read; workers are not renewed", extra={"error": str(error)})
            return
        log.info("renewing workers", extra={"number": number})
        for slot in list(self._slots)[number:]:
            self._slots.pop(slot).cancel()
            await slot.empty()
        for slot in list(self._slots):
            if not await slot.renew():
                return
        while len(self._slots) < number:
            slot = WorkerSlot(self._start)
            self._slots[slot] = asyncio.create_task(slot.keep())
        log.info("workers renewed", extra={"number": number})


def run(plan: WorkerPlan, settings: Settings, ready: Callable[[], None]) -> int:
    """Supervise the workers of the plan until stopped; return the exit code."""
    with logs.configured(settings), tempfile.TemporaryDirectory(prefix="isotherm-metrics-") as folder:
        return asyncio.run(Supervisor(replace(plan, metrics=folder)).run(ready))
