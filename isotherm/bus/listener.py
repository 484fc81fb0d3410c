"""Calls a BusListener without letting its exceptions reach the bus.

A turn that was begun for a call goes on if the connection is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.bus.ports import BusListener

log = logging.getLogger(__name__)


class SafeListener:
    """Wraps a listener, or none."""

    def __init__(self, listener: BusListener | None) -> None:
        self._listener = listener
        self._turn: asyncio.Task[None] | None = None

    def stacks_changed(self, stack_ids: Sequence[str]) -> None:
        if self._listener is not None:
            try:
                self._listener.stacks_changed(stack_ids)
            except Exception as error:  # noqa: BLE001 - an error of the engine must not end the connection
                _log("stacks_changed", error)

    def reality_hint(self, message: Mapping[str, Any]) -> None:
        if self._listener is not None:
            try:
                self._listener.reality_hint(message)
            except Exception as error:  # noqa: BLE001 - an error of the engine must not end the connection
                _log("reality_hint", error)

    def has_capacity(self) -> bool:
        try:
            return self._listener is not None and self._listener.has_capacity()
        except Exception as error:  # noqa: BLE001 - an error of the engine must not end the connection
            _log("has_capacity", error)
            return False

    async def take_turn(self) -> bool:
        """Return whether the turn was taken without an error. Turns follow one another, also across connections."""
        if self._listener is None:
            return False
        if self._turn is not None:
            await asyncio.wait({self._turn})
        turn = self._turn = asyncio.create_task(_take_turn(self._listener), name="a turn for the bus")
        await asyncio.wait({turn})
        return _succeeded(turn)

    async def leave(self, limit_s: float) -> None:
        """Wait for the turn under way, and cancel it after the time limit."""
        if self._turn is not None:
            await asyncio.wait({self._turn}, timeout=limit_s)
            self._turn.cancel()
            await asyncio.wait({self._turn})
            _succeeded(self._turn)


async def _take_turn(listener: BusListener) -> None:
    await listener.take_turn()


def _succeeded(turn: asyncio.Task[None]) -> bool:
    if turn.cancelled():
        return False
    error = turn.exception()
    if error is not None:
        _log("take_turn", error)
    return error is None


def _log(method: str, error: BaseException) -> None:
    # The message is left out: it may contain secrets of any stack.
    log.error("a listener failed on a message", extra={"method": method, "error": type(error).__name__})
