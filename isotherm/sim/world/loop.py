"""An event loop in which nothing is left to chance but what a seed decides.

Time is virtual: it stands still while anything can run, and jumps to the next timer when nothing can. Among the
callbacks that are ready, the seed chooses. Every callback belongs to a process (see `processes`): those of a dead one
never run, those of a paused one wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import heapq
import warnings
from asyncio import events
from collections.abc import Callable, Coroutine
from contextvars import Context
from random import Random
from typing import Any, TypeVar

from isotherm.sim.world import processes

T = TypeVar("T")

EPOCH = 1_800_000_000.0


class OutOfSteps(Exception):
    """The simulation turns and turns, and does not come to an end."""


class SimLoop:
    """The part of a loop that asyncio's tasks, events and timeouts need."""

    def __init__(self, random: Random, *, max_steps: int = 60_000) -> None:
        # asyncio takes for a loop whatever behaves like one.
        self._self: Any = self
        self._random = random
        self._now = EPOCH
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._number = 0
        self._max_steps = max_steps
        self.steps = 0
        # Whatever was ever begun: a task that nobody holds would be closed by the garbage collector, and its `finally`
        # blocks would run. A process that was killed runs nothing any more.
        self.tasks: list[asyncio.Task[Any]] = []

    # What the rest of asyncio calls.

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self._self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> Any:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self._self, name=name, context=context)
        task._log_destroy_pending = False  # type: ignore[attr-defined] # a killed process leaves such tasks behind
        self.tasks.append(task)
        return task

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self._self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self._self, context)
        self._number += 1
        heapq.heappush(self._timers, (when, self._number, handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Cancelled timers are dropped when their time comes."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        # What was said to a process that had died is heard by nobody, and that is as it should be.
        if "never retrieved" in context["message"]:
            return
        raise context.get("exception") or RuntimeError(context["message"])

    # What the simulator calls.

    def run(self, until: Callable[[], bool]) -> bool:
        """Turn until the condition holds; False if there is nothing left that could ever run."""
        before = events._get_running_loop()
        events._set_running_loop(self._self)
        try:
            while not until():
                if not self._ready and not self._next_timers():
                    return False
                if self._ready:
                    self._step()
            return True
        finally:
            events._set_running_loop(before)

    def run_until(self, work: Coroutine[Any, Any, T]) -> T:
        task: asyncio.Task[T] = self.create_task(work)
        self.run(task.done)
        return task.result()

    def close(self) -> None:
        """The end of the world: what was still under way is closed, and whatever it says to that is not listened to."""
        tasks, self.tasks = self.tasks, []
        self._ready.clear()
        self._timers.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for task in tasks:
                if not task.done():
                    with contextlib.suppress(RuntimeError):
                        task.get_coro().close()
            tasks.clear()
            gc.collect(0)

    def release(self, handles: list[asyncio.Handle]) -> None:
        """A paused process goes on."""
        self._ready.extend(handles)

    def _next_timers(self) -> bool:
        """Jump to the next timer; what falls due at one moment falls due together."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            return False
        self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            handle = heapq.heappop(self._timers)[2]
            if not handle.cancelled():
                self._ready.append(handle)
        return True

    def _step(self) -> None:
        ready = self._ready
        index = int(self._random.random() * len(ready))
        handle = ready[index]
        ready[index] = ready[-1]
        ready.pop()
        if handle.cancelled():
            return
        owner = handle._context.get(processes.OWNER)  # type: ignore[attr-defined]
        if owner is not None and not owner.runs(handle):
            return
        self.steps += 1
        if self.steps > self._max_steps:
            raise OutOfSteps(f"{self._max_steps} steps, and no end")
        handle._run()
