"""OS::Heat::TestResource: stores a text; waits, fails or requires replacement as its properties say.

Heat's functional tests use it, so it behaves as Heat's. Its objects are in `context.reality`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm import errors
from isotherm.resources import contract
from isotherm.resources.heat import timer
from isotherm.resources.schema import BOOLEAN, CACHE_NONE, MAP, NUMBER, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

VALUE, UPDATE_REPLACE, FAIL, WAIT = "value", "update_replace", "fail", "wait_secs"
ACTION_WAIT, ATTR_WAIT = "action_wait_secs", "attr_wait_secs"


def _action_wait(action: str) -> Schema:
    return Schema(NUMBER, f"How long {action} takes, in seconds; wait_secs if it is not given.", update_allowed=True)


class TestResource(timer.TimedResource):
    """Stores a text. For tests only."""

    __test__ = False  # the name is Heat's: test runners are not to collect it

    TYPE = "OS::Heat::TestResource"
    DESCRIPTION = "Stores a text, and waits, fails or is replaced, as its properties say. For tests only."
    support = Support(version="5.0.0")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        "constraint_prop_secs": Schema(
            NUMBER, "A number that a custom constraint looks at.", default=0, update_allowed=True,
            constraints=(constraints.CustomConstraint(constraint="test_constr"),), support=Support(version="6.0.0")),
        ATTR_WAIT: Schema(NUMBER, "How long reading the output takes, in seconds.", default=0, update_allowed=True,
                          support=Support(version="6.0.0")),
        VALUE: Schema(STRING, "The text to store.", default="test_string", update_allowed=True),
        "update_replace_value": Schema(STRING, "A text that cannot be changed without replacement.",
                                       support=Support(version="7.0.0")),
        FAIL: Schema(BOOLEAN, "Whether a create or update fails in the end.", default=False, update_allowed=True),
        UPDATE_REPLACE: Schema(
            BOOLEAN, "Whether a change of the value replaces the resource.", default=False, update_allowed=True),
        WAIT: Schema(NUMBER, "How long each action takes, in seconds; -1 is forever.", default=0, update_allowed=True),
        ACTION_WAIT: Schema(
            MAP, "How long single actions take.", update_allowed=True,
            schema={action: _action_wait(action) for action in ("create", "update", "delete")}),
        "client_name": Schema(STRING, "A client to ask. Kept for compatibility.", default="", update_allowed=True),
        "entity_name": Schema(STRING, "What to ask the client for. Kept for compatibility.", default="",
                              update_allowed=True),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        "output": AttributeSchema("The text that is stored.", cache_mode=CACHE_NONE),
    }

    async def handle_create(self) -> object:
        await self.context.reality.create(self.TYPE, self.token, {VALUE: self.properties[VALUE]}, self.physical_name)
        self.physical_id = self.physical_name
        return self._wait("create")

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        done = timer.over(self.context.clock, progress, "being created")
        if done is True and self.properties[FAIL]:
            # A failed create leaves nothing behind, neither in reality nor in the row.
            await self.context.reality.delete(self.physical_name)
            self.physical_id = None
            raise ValueError(f"Test Resource failed {self.name}")
        return done

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if VALUE not in changed:
            return None
        if self.physical_id is not None and not await self.context.reality.update(
                self.physical_id, {VALUE: self.properties[VALUE]}):
            raise errors.Permanent(f"{self.physical_id} does not exist")
        return self._wait("update")

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        done = timer.over(self.context.clock, progress, "being updated")
        if done is True and self.properties[FAIL]:
            raise ValueError(f"Test Resource failed {self.name}")
        return done

    async def handle_check(self) -> object:
        # As in Heat: an external object is assumed to exist.
        return None if self.external else await super().handle_check()

    async def handle_delete(self) -> object:
        return self._wait("delete") if self.physical_id is not None else None

    def needs_replace(self, before: Mapping[str, Any], after: Mapping[str, Any],
                      changed: Mapping[str, Any]) -> str | None:
        return VALUE if VALUE in changed and after.get(UPDATE_REPLACE) else None

    async def attribute(self, name: str) -> object:
        if self.properties[ATTR_WAIT] > 0:
            await asyncio.sleep(self.properties[ATTR_WAIT])
        found = await self.context.reality.get(self.physical_id) if self.physical_id is not None else None
        return None if found is None else found.get(VALUE)

    def _wait(self, action: str) -> dict[str, Any] | None:
        own = (self.properties[ACTION_WAIT] or {}).get(action)
        seconds = self.properties[WAIT] if own is None else own
        return timer.until(self.context.clock, seconds) if seconds else None
