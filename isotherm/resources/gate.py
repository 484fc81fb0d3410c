"""Call the methods of resource types: an async one runs on the loop, a plain one on a thread.

`call` is the only way in which the engine calls a type. How a plain method leaves the loop is the port `Threads`: the
engine has `LoopThreads`; the simulator, which is deterministic, has its own.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from isotherm import errors

T = TypeVar("T")


class Threads(Protocol):
    """Run plain methods away from the loop, and let them use the world's async ports."""

    async def run(self, method: Callable[..., T], *arguments: object) -> T: ...

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the coroutine returns. Called by a plain method: `self.context.threads.wait(...)`."""
        ...


async def call(threads: Threads, method: Callable[..., Any], *arguments: object) -> Any:
    """Call a method of a type, plain or async, and return its answer."""
    if _is_async(getattr(method, "__func__", method)):
        return await method(*arguments)
    answer = await threads.run(method, *arguments)
    # A plain function around an async one, as a decorator makes it.
    return await answer if inspect.isawaitable(answer) else answer


@functools.cache
def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function)


class LoopThreads:
    """Run plain methods on the threads of the running loop."""

    async def run(self, method: Callable[..., T], *arguments: object) -> T:
        call_ = _Call(asyncio.get_running_loop())
        try:
            return await asyncio.to_thread(call_.run, method, *arguments)
        finally:
            call_.end()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        call_ = _CALL.get()
        if call_ is None:
            work.close()
            raise errors.Bug("threads.wait was called outside of a plain method; an async method awaits the port itself")
        return call_.wait(work)


class _Call:
    """One plain method under way. A thread cannot be cancelled, but it gets no answers after its step has been."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._pending: concurrent.futures.Future[Any] | None = None
        self._ended = False

    def run(self, method: Callable[..., T], *arguments: object) -> T:
        _CALL.set(self)
        return method(*arguments)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._ended:
                work.close()
                raise errors.Superseded("the step that called this method has ended")
            pending = self._pending = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            answer: T = pending.result()
        except concurrent.futures.CancelledError as error:
            raise errors.Superseded("the step that called this method has ended") from error
        return answer

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._pending is not None:
                self._pending.cancel()


_CALL: ContextVar[_Call | None] = ContextVar("_CALL", default=None)
