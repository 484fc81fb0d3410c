"""Reads the outputs of stacks for other stacks of their project: the port `shared_outputs.SharedOutputs`."""

from __future__ import annotations

import dataclasses

from isotherm.engine.nested.inner_reads import Access, InnerStackReader
from isotherm.planning import outputs
from isotherm.resources.context.shared_outputs import ReadStack
from isotherm.states import Action, Status
from isotherm.store import rows
from isotherm.store.reads import lookups


@dataclasses.dataclass(frozen=True, slots=True)
class ProjectOutputs:
    """The outputs of the stacks of a project. A secret output is named, and its value is left out."""

    access: Access

    def of(self, project: str) -> ProjectOutputs:
        return ProjectOutputs(dataclasses.replace(self.access, project=project))

    async def read(self, name_or_id: str) -> ReadStack | None:
        access = self.access
        stack = await access.store.read(lambda connection: lookups.stack(connection, access.project, name_or_id))
        if stack is None or stack["tomb"] or stack["action"] == Action.DELETE:
            return None
        operation = await access.store.read(lambda connection: rows.operation(connection, stack["operation_id"]))
        if operation is None or not operation.input:
            return ReadStack(stack["id"], stack["name"], {})
        known = (await access.planning.summary(operation)).outputs
        secrets = await access.planning.all_secrets(stack["id"])
        views = {one["output_key"]: one for one in await InnerStackReader(access).output_views(stack)}
        secret = frozenset(name for name, view in views.items() if outputs.masked(known[name], view, secrets) != view)
        readable = {name: view for name, view in views.items() if name not in secret}
        return ReadStack(
            stack["id"], stack["name"], {name: view["output_value"] for name, view in readable.items()},
            {name: view["output_error"] for name, view in readable.items() if "output_error" in view},
            secret, stack["status"] == Status.IN_PROGRESS)
