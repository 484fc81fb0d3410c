"""Waiting for a moment: what the types that only pretend to work have in common.

A wait is kept as the moment at which it ends, never as what is left of it: so it ends at the same moment whoever takes
it up, and however often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isotherm.resources import contract

# A wait without end is looked at now and then: cancelling and timing out are the engine's business.
_FOREVER_S = 3600.0


def until(clock: contract.Clock, seconds: float) -> dict[str, Any]:
    """Progress for a wait that begins now; negative seconds never end."""
    return {"until": clock.now() + seconds if seconds >= 0 else None}


def over(clock: contract.Clock, progress: Mapping[str, Any] | None, reason: str) -> bool | contract.Wait:
    """Whether the wait is over, as a `check_*` method answers. No progress: there was nothing to wait for."""
    if not progress:
        return True
    end = progress["until"]
    left = _FOREVER_S if end is None else end - clock.now()
    return True if left <= 0 else contract.Wait(left, reason)
