"""OS::Heat::Dummy: a resource that waits and does nothing, for testing orchestration.

Its objects are in `context.reality`, apart from the engine's tables, so that the engine's belief can be compared with
reality.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.heat import timer
from isotherm.resources.schema import INTEGER, NUMBER, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

NAME_LEN, UPDATE_IN_PLACE, FAIL, MAX_WAIT = "name_len", "update_in_place_prop", "fail_prop", "max_wait_secs"

_SHORTEST_WAIT_S = 1.0
_ATTEMPTS = 20


class Dummy(timer.TimedResource):
    """Waits at each operation. For tests and demonstrations."""

    TYPE = "OS::Heat::Dummy"
    DESCRIPTION = "Does nothing, and takes a random time to do it: for trying out stacks without a cloud."
    support = Support(version="0.1.0")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        NAME_LEN: Schema(
            INTEGER, "Length of the random string that is the physical id. A change replaces the resource.", default=10,
            constraints=(constraints.Range(minimum=1, maximum=255),), update_allowed=True),
        UPDATE_IN_PLACE: Schema(
            STRING, "Any text. A change of it updates the resource in place, whatever else changes.",
            update_allowed=True),
        FAIL: Schema(
            STRING, 'With "yes" the create or update fails. A change of it alone replaces the resource.',
            update_allowed=True, observable=False),
        MAX_WAIT: Schema(
            NUMBER, "The longest time, in seconds, that an operation takes. The shortest is one second, or this if it "
            "is less.", default=5, constraints=(constraints.Range(minimum=0),), update_allowed=True, observable=False),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "name": AttributeSchema("The random string, which is also the physical id.", STRING),
    }

    async def handle_create(self) -> object:
        for attempt in range(_ATTEMPTS):
            letters = self.context.random.choices(string.ascii_lowercase + string.digits, k=self.properties[NAME_LEN])
            try:
                await self.context.reality.create(self.TYPE, self.token, self._stored(), "".join(letters))
            except errors.Permanent:
                # A short name may be taken already; then another one is drawn.
                if attempt == _ATTEMPTS - 1 or await self.context.reality.find(self.token) is not None:
                    raise
            else:
                self.physical_id = "".join(letters)
                break
        return self._wait()

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return self._check(progress, "being created")

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.physical_id is not None and not await self.context.reality.update(self.physical_id, self._stored()):
            raise errors.Permanent(f"{self.physical_id} does not exist")
        # Only the time it takes was changed: that is known at once.
        return None if changed.keys() == {MAX_WAIT} else self._wait()

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return self._check(progress, "being updated")

    async def handle_delete(self) -> object:
        return self._wait() if self.physical_id is not None else None

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any],
                      changed: Mapping[str, Any]) -> str | None:
        if UPDATE_IN_PLACE in changed:
            return None
        return next((name for name in (NAME_LEN, FAIL) if name in changed), None)

    async def attribute(self, name: str) -> object:
        return self.physical_id

    def _stored(self) -> dict[str, Any]:
        return {name: self.properties[name] for name in (NAME_LEN, UPDATE_IN_PLACE)}

    def _wait(self) -> dict[str, Any]:
        longest = self.properties[MAX_WAIT]
        return timer.until(self.context.clock, self.context.random.uniform(min(_SHORTEST_WAIT_S, longest), longest))

    def _check(self, progress: Any, reason: str) -> bool | contract.Wait:
        done = timer.over(self.context.clock, progress, reason)
        if done is True and self.properties[FAIL] == "yes":
            raise ValueError(f"Dummy resource failed {self.name}")
        return done
