"""What a process does with what it hears on the bus: its worker looks, gives up what was overtaken, or comes to help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


class Helper(Protocol):
    """A worker, as the bus knows it."""

    def overtaken(self, stack_ids: Sequence[str]) -> None: ...

    def has_room(self) -> bool: ...

    async def come(self) -> None: ...


class ProcessListener:
    """The ears of a process. Whoever works in it comes and goes, so it is asked for each time."""

    def __init__(
        self, worker: Callable[[], Helper | None], wake: Callable[[], None], hinted: Callable[[Mapping[str, Any]], None]
    ) -> None:
        self._worker = worker
        self._wake = wake
        self._hinted = hinted

    def news(self, stack_ids: Sequence[str]) -> None:
        worker = self._worker()
        if worker is not None:
            worker.overtaken(stack_ids)
        self._wake()

    async def come(self) -> None:
        worker = self._worker()
        if worker is not None:
            await worker.come()

    def room(self) -> bool:
        worker = self._worker()
        return worker is not None and worker.has_room()

    def hint(self, what: Mapping[str, Any]) -> None:
        self._hinted(what)
