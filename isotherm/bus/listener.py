"""BusListener that never raise: what goes wrong in an engine that hears something is not to end its hearing.

Nor does what goes wrong with a broker end what the engine does: a turn that was begun goes on when its connection is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.bus.ports import BusListener

log = logging.getLogger(__name__)


class SafeListener:
    """Some ears, or none."""

    def __init__(self, ears: BusListener | None) -> None:
        self._ears = ears
        self._turn: asyncio.Task[None] | None = None

    def news(self, stack_ids: Sequence[str]) -> None:
        if self._ears is not None:
            try:
                self._ears.news(stack_ids)
            except Exception as error:  # noqa: BLE001 - as above
                _tell("news", error)

    def hint(self, what: Mapping[str, Any]) -> None:
        if self._ears is not None:
            try:
                self._ears.hint(what)
            except Exception as error:  # noqa: BLE001 - as above
                _tell("hint", error)

    def room(self) -> bool:
        try:
            return self._ears is not None and self._ears.room()
        except Exception as error:  # noqa: BLE001 - as above
            _tell("room", error)
            return False

    async def come(self) -> bool:
        """Whether it came, and all went well. Turns follow each other: one may be left from a lost connection."""
        if self._ears is None:
            return False
        if self._turn is not None:
            await asyncio.wait({self._turn})
        turn = self._turn = asyncio.create_task(_come(self._ears), name="a turn for the bus")
        await asyncio.wait({turn})
        return _went_well(turn)

    async def leave(self, limit_s: float) -> None:
        """No turn is under way afterwards."""
        if self._turn is not None:
            await asyncio.wait({self._turn}, timeout=limit_s)
            self._turn.cancel()
            await asyncio.wait({self._turn})
            _went_well(self._turn)


async def _come(ears: BusListener) -> None:
    await ears.come()


def _went_well(turn: asyncio.Task[None]) -> bool:
    if turn.cancelled():
        return False
    error = turn.exception()
    if error is not None:
        _tell("come", error)
    return error is None


def _tell(what: str, error: BaseException) -> None:
    # The text of an error may have anything in it, secrets too.
    log.error("a message could not be acted upon", extra={"what": what, "error": type(error).__name__})
