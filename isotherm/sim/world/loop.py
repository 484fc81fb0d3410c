"""A deterministic event loop: the seed decides which of the ready callbacks runs next.

Time is virtual: it stands still while a callback is ready, and jumps to the next timer otherwise. Callbacks belong to a
process (see `processes`): those of a killed process never run, those of a paused process wait.
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
    """The simulation has not ended within its number of steps."""


class SimLoop:
    """The part of a loop that asyncio's tasks, events and timeouts need."""

    def __init__(self, random: Random, *, max_steps: int = 60_000) -> None:
        # Typed as Any: asyncio accepts any object that behaves like a loop.
        self._self: Any = self
        self._random = random
        self._now = EPOCH
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._number = 0
        self._max_steps = max_steps
        self.steps = 0
        # Keeps every task alive: the garbage collector would close the tasks of a killed process, which would run their
        # `finally` blocks.
        self.tasks: list[asyncio.Task[Any]] = []

    # Called by asyncio.

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
        """Do nothing: cancelled timers are dropped when they fall due."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        # A killed process never retrieves the results of its futures.
        if "never retrieved" in context["message"]:
            return
        raise context.get("exception") or RuntimeError(context["message"])

    # Called by the simulator.

    def run(self, until: Callable[[], bool]) -> bool:
        """Run callbacks until the condition holds; return False if no callback and no timer is left."""
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
        """Close all unfinished tasks, and ignore their errors."""
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
        """Make the callbacks of a resumed process ready."""
        self._ready.extend(handles)

    def _next_timers(self) -> bool:
        """Jump to the next timer, and make all timers of that time ready; return whether there is one."""
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
