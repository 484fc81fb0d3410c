"""The bus of a single process: an announcement reaches its own listener, and there are no helpers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from isotherm import errors
from isotherm.bus.listener import SafeListener
from isotherm.bus.ports import BusListener, Counts


class LocalBus:
    """Calls the listener of this process, on the loop of the listener, from any thread."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._listener = SafeListener(None)
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def connected(self) -> bool:
        return True

    def announce(self, stack_ids: Sequence[str]) -> None:
        if stack_ids:
            self._on_loop(self._announce, tuple(stack_ids))

    def call_for_help(self) -> None:
        """Do nothing: there are no other processes."""

    def capacity_changed(self) -> None:
        """Do nothing: there are no calls for help."""

    @asynccontextmanager
    async def listening(self, listener: BusListener | None = None, *, hints: bool = True) -> AsyncIterator[None]:
        if self._loop is not None:
            raise errors.Bug("one process listens once")
        self._listener, self._loop = SafeListener(listener), asyncio.get_running_loop()
        try:
            yield
        finally:
            self._listener, self._loop = SafeListener(None), None

    def _announce(self, stack_ids: tuple[str, ...]) -> None:
        self._listener.stacks_changed(stack_ids)

    def _on_loop(self, act: Callable[..., None], *arguments: object) -> None:
        loop = self._loop
        if loop is None or loop is _running():
            act(*arguments)
            return
        try:
            loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:  # The loop has just been closed.
            self.counts.dropped += 1


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
