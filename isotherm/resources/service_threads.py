"""Threads for the plain methods of types: a bounded pool for each service, so that a service that hangs stops no other.

A thread cannot be stopped. A call that is given up (its step was cancelled, or its time limit has passed) may go on in its
thread, but it gets no more answers from the ports of its context, and its lease counts as lost.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from isotherm import errors
from isotherm.resources.gate import BlockingCall

T = TypeVar("T")

# The default of the option `max_threads_per_service`.
THREADS = 16
# A thread without work ends after this time.
_IDLE_S = 10.0
# The pause before a call that found no free thread is tried again.
_RETRY_S = 2.0


class ServiceThreads:
    """Implements the port `gate.Threads`: at most `most` plain methods of a service run at a time."""

    def __init__(self, most: int = THREADS) -> None:
        self._most = most
        self._pools: dict[str, _Pool] = {}

    async def run(self, call: BlockingCall) -> Any:
        running = _Running(asyncio.get_running_loop(), call)
        future = self._pool(call.service).submit(running.run)
        answer = asyncio.wrap_future(future)
        try:
            # Not asyncio.timeout: the method may raise a TimeoutError of its own.
            done, _ = await asyncio.wait((answer,), timeout=call.timeout_s)
            if done:
                return answer.result()
            if future.cancel():
                raise errors.NotBegun(
                    f"{call.service}: all {self._most} threads were busy for {call.timeout_s:g} s", _RETRY_S)
            raise errors.Temporary(f"{call.service} did not answer within {call.timeout_s:g} s")
        finally:
            running.abandon()
            answer.cancel()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        running = _RUNNING.get()
        if running is None:
            work.close()
            raise errors.Bug("threads.wait was called outside of a plain method; an async method awaits the port itself")
        return running.wait(work)

    def _pool(self, service: str) -> _Pool:
        if service not in self._pools:
            self._pools[service] = _Pool(service, self._most)
        return self._pools[service]


def refuse_abandoned() -> None:
    """Raise Superseded on the thread of a call that has been given up. Leases call this."""
    running = _RUNNING.get()
    if running is not None and running.is_abandoned:
        raise errors.Superseded(_ABANDONED)


class _Pool:
    """The threads of one service. They are daemons: a call that hangs does not keep the process from ending."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._waiting: deque[tuple[concurrent.futures.Future[Any], contextvars.Context, Callable[[], Any]]] = deque()
        self._changed = threading.Condition()
        self._threads = self._idle = 0

    def submit(self, work: Callable[[], Any]) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        with self._changed:
            self._waiting.append((future, contextvars.copy_context(), work))
            if len(self._waiting) > self._idle and self._threads < self._most:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"{self._name} calls", daemon=True).start()
            self._changed.notify()
        return future

    def _serve(self) -> None:
        while (next_ := self._next()) is not None:
            future, context, work = next_
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(context.run(work))
            except BaseException as error:  # noqa: BLE001 - it is raised where the method was called
                future.set_exception(error)
            del future, context, work, next_

    def _next(self) -> tuple[concurrent.futures.Future[Any], contextvars.Context, Callable[[], Any]] | None:
        with self._changed:
            while not self._waiting:
                self._idle += 1
                woken = self._changed.wait(_IDLE_S)
                self._idle -= 1
                if not woken and not self._waiting:
                    self._threads -= 1
                    return None
            return self._waiting.popleft()


class _Running:
    """One plain method under way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: BlockingCall) -> None:
        self._loop = loop
        self._call = call
        self._lock = threading.Lock()
        self._pending: concurrent.futures.Future[Any] | None = None
        self.is_abandoned = False

    def run(self) -> Any:
        _RUNNING.set(self)
        refuse_abandoned()
        return self._call.run()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self.is_abandoned:
                work.close()
                raise errors.Superseded(_ABANDONED)
            pending = self._pending = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            answer: T = pending.result()
        except concurrent.futures.CancelledError as error:
            raise errors.Superseded(_ABANDONED) from error
        return answer

    def abandon(self) -> None:
        """Give no more answers to the method, if it is still running."""
        with self._lock:
            self.is_abandoned = True
            if self._pending is not None:
                self._pending.cancel()


_ABANDONED = "the step that called this method has ended"
_RUNNING: ContextVar[_Running | None] = ContextVar("_RUNNING", default=None)
