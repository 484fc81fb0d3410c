"""Ears that never raise: what goes wrong in an engine that hears something is not to end its hearing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.bus.ports import Ears

log = logging.getLogger(__name__)


class Hearing:
    """Some ears, or none."""

    def __init__(self, ears: Ears | None) -> None:
        self._ears = ears

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
        """Whether it came, and all went well."""
        if self._ears is None:
            return False
        try:
            await self._ears.come()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Not we were cancelled, but something that the engine waited for.
            return False
        except Exception as error:  # noqa: BLE001 - as above
            _tell("come", error)
            return False
        return True


def _tell(what: str, error: Exception) -> None:
    # The text of an error may have anything in it, secrets too.
    log.error("a message could not be acted upon", extra={"what": what, "error": type(error).__name__})
