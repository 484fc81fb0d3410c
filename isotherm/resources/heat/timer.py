"""Waits that end at a point in time, for types that only pretend to work.

A wait is stored as the time of its end, so that it ends at the same time whichever worker continues it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isotherm.resources import contract
from isotherm.resources.reality import observation

# Interval of checks of an endless wait. The engine handles cancellation and time limits.
_FOREVER_S = 3600.0


def until(clock: contract.Clock, seconds: float) -> dict[str, Any]:
    """Return the progress of a wait that begins now; negative seconds never end."""
    return {"until": clock.now() + seconds if seconds >= 0 else None}


def over(clock: contract.Clock, progress: Mapping[str, Any] | None, reason: str) -> bool | contract.Wait:
    """Return the result of `check_*` for a wait. Without progress there is nothing to wait for."""
    if not progress:
        return True
    end = progress["until"]
    left = _FOREVER_S if end is None else end - clock.now()
    return True if left <= 0 else contract.Wait(left, reason)


class TimedResource(contract.Resource):
    """A type whose objects are in `context.reality`, and whose deletion is a wait."""

    async def find_by_token(self) -> contract.Search:
        return contract.found(await self.context.reality.find(self.token))

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        done = over(self.context.clock, progress, "being deleted")
        if done is True and self.physical_id is not None:
            await self.context.reality.delete(self.physical_id)
        return done

    async def handle_get_reality(self) -> contract.LiveState:
        return await _seen(self.context, self.physical_id)

    @classmethod
    async def observe_many(
        cls, context: contract.Context, many: Sequence[contract.ResourceState]
    ) -> Sequence[contract.LiveState]:
        # The journal is local: a query for many objects would save nothing.
        return [await observation.attempt(one.physical_id, _seen, context, one.physical_id) for one in many]


async def _seen(context: contract.Context, physical_id: str | None) -> contract.LiveState:
    found = None if physical_id is None else await context.reality.get(physical_id)
    return contract.Gone() if found is None else contract.Seen(found)
