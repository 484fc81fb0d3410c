"""Threads for plain methods, of which one runs at a time.

A plain method has a thread of its own, as in production, and the loop stands still while it runs. While the method waits
for a port, the loop goes on, and the seed decides what runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from isotherm import errors
from isotherm.resources import gate

T = TypeVar("T")
# Few, so that calls do wait for a thread.
MOST = 2
RETRY_S = 2.0
_CALL: contextvars.ContextVar[_Call | None] = contextvars.ContextVar("_CALL", default=None)


class SimThreads:
    """Implements the port `gate.Threads`: at most `most` plain methods of a service run at a time.

    A call that gets no thread within its time limit was not begun. A method that was begun has no time limit.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._free: dict[str, asyncio.Semaphore] = {}

    async def run(self, asked: gate.BlockingCall) -> Any:
        free = self._free.setdefault(asked.service, asyncio.Semaphore(self._most))
        try:
            async with asyncio.timeout(asked.timeout_s if free.locked() else None):
                await free.acquire()
        except TimeoutError as error:
            raise errors.NotBegun(f"{asked.service}: all {self._most} threads were busy", RETRY_S) from error
        try:
            return await self._run(asked)
        finally:
            free.release()

    async def _run(self, asked: gate.BlockingCall) -> Any:
        call = _Call(asked)
        work = call.start()
        while work is not None:
            try:
                answer = await work
            except BaseException as error:  # noqa: BLE001 - raised in the method
                work = call.go_on(None, error)
            else:
                work = call.go_on(answer)
        return call.result()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        call = _CALL.get()
        if call is None:
            work.close()
            raise errors.Bug("threads.wait was called outside of a plain method")
        answer: T = call.wait(work)
        return answer


class _Call:
    """One plain method on its thread. Either that thread runs, or the loop's does."""

    def __init__(self, asked: gate.BlockingCall) -> None:
        self._asked = asked
        self._is_its_turn = threading.Semaphore(0)
        self._is_turn_of_loop = threading.Semaphore(0)
        self._work: Coroutine[Any, Any, Any] | None = None
        self._answer: Any = None
        self._error: BaseException | None = None

    # On the loop's thread.

    def start(self) -> Coroutine[Any, Any, Any] | None:
        """Run the method until it waits or ends; return the coroutine that it waits for."""
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._run,), daemon=True).start()
        return self._turn()

    def go_on(self, answer: Any, error: BaseException | None = None) -> Coroutine[Any, Any, Any] | None:
        self._answer, self._error = answer, error
        return self._turn()

    def _turn(self) -> Coroutine[Any, Any, Any] | None:
        self._work = None
        self._is_its_turn.release()
        self._is_turn_of_loop.acquire()
        return self._work

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._answer

    # On its own.

    def _run(self) -> None:
        self._is_its_turn.acquire()
        _CALL.set(self)
        try:
            self._answer, self._error = self._asked.run(), None
        except BaseException as error:  # noqa: BLE001 - it is raised where the method was called
            self._error = error
        self._is_turn_of_loop.release()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        self._work = work
        self._is_turn_of_loop.release()
        self._is_its_turn.acquire()
        return self.result()
