"""OS::Heat::Delay: a pause at a chosen position in the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.heat import timer
from isotherm.resources.schema import LIST, NUMBER, Schema, Support
from isotherm.template.parameters import constraints

MIN_WAIT, MAX_JITTER, MULTIPLIER, ACTIONS = "min_wait", "max_jitter", "jitter_multiplier", "actions"

_NOT_NEGATIVE = (constraints.Range(minimum=0),)


class Delay(contract.RowOnly):
    """Waits after its requirements are complete, before its dependants begin."""

    TYPE = "OS::Heat::Delay"
    DESCRIPTION = "Waits: what depends on it comes that much later. A random part keeps many from going at once."
    support = Support(version="11.0.0")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        MIN_WAIT: Schema(NUMBER, "The least time to wait, in seconds.", default=0, update_allowed=True,
                         constraints=_NOT_NEGATIVE),
        MAX_JITTER: Schema(NUMBER, "The most that is added to it, drawn at random.", default=0, update_allowed=True,
                           constraints=_NOT_NEGATIVE),
        MULTIPLIER: Schema(NUMBER, "How many seconds one of max_jitter is.", default=1.0, update_allowed=True,
                           constraints=_NOT_NEGATIVE),
        ACTIONS: Schema(
            LIST, "The actions that wait.", default=["CREATE"], update_allowed=True,
            constraints=(constraints.AllowedValues(allowed=("CREATE", "DELETE", "SUSPEND", "RESUME")),)),
    }

    async def handle_create(self) -> object:
        self.physical_id = self.physical_name
        return self._wait("CREATE")

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return timer.over(self.context.clock, progress, "delaying")

    async def handle_delete(self) -> object:
        return self._wait("DELETE") if self.physical_id is not None else None

    async def check_delete_complete(self, progress: Any) -> bool | contract.Wait:
        return timer.over(self.context.clock, progress, "delaying")

    async def handle_suspend(self) -> object:
        return self._wait("SUSPEND")

    async def check_suspend_complete(self, progress: Any) -> bool | contract.Wait:
        return timer.over(self.context.clock, progress, "delaying")

    async def handle_resume(self) -> object:
        return self._wait("RESUME")

    async def check_resume_complete(self, progress: Any) -> bool | contract.Wait:
        return timer.over(self.context.clock, progress, "delaying")

    def _wait(self, action: str) -> dict[str, Any] | None:
        if action not in self.properties[ACTIONS]:
            return None
        jitter = self.context.random.uniform(0, self.properties[MAX_JITTER] * self.properties[MULTIPLIER])
        return timer.until(self.context.clock, self.properties[MIN_WAIT] + jitter)
