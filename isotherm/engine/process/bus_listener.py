"""Connects the bus to the worker of a process: it searches for due nodes, checks for superseded steps, or takes a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


class Helper(Protocol):
    """The methods of a worker that the bus calls."""

    def check_superseded(self, stack_ids: Sequence[str]) -> None: ...

    def has_capacity(self) -> bool: ...

    async def take_turn(self) -> None: ...


class ProcessListener:
    """The `bus.BusListener` of a process. Its worker may start and stop, so `worker` is called each time."""

    def __init__(
        self, worker: Callable[[], Helper | None], wake: Callable[[], None], take_hint: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._worker = worker
        self._wake = wake
        self._take_hint = take_hint

    def stacks_changed(self, stack_ids: Sequence[str]) -> None:
        worker = self._worker()
        if worker is not None:
            worker.check_superseded(stack_ids)
        self._wake()

    async def take_turn(self) -> None:
        worker = self._worker()
        if worker is not None:
            await worker.take_turn()

    def has_capacity(self) -> bool:
        worker = self._worker()
        return worker is not None and worker.has_capacity()

    def reality_hint(self, message: Mapping[str, Any]) -> None:
        self._take_hint(message)
