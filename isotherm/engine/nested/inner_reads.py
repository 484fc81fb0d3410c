"""Reads nested stacks: the reading half of the port `contract.Stacks`.

Reading needs no lease. So it also serves groups that are about to be scaled, and outputs that show a group as it is now
instead of as it was when the outer stack last changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isotherm import errors
from isotherm.engine import contexts
from isotherm.planning import documents, off_loop, outputs, publish, resource_states
from isotherm.planning.planner import Planning, input_of
from isotherm.planning.references import PublishedReferences
from isotherm.planning.summaries import StackSummary
from isotherm.resources import contract
from isotherm.resources.heat.groups.auto_scaling_group import AutoScalingGroup
from isotherm.resources.nested import group_base
from isotherm.secrets import Redactor
from isotherm.store import rows
from isotherm.store.database.writer import Connection, Store
from isotherm.store.reads import lookups
from isotherm.store.records import Input, Version
from isotherm.template.model.definitions import Output
from isotherm.template.parameters import parameters
from isotherm.template.text import document

PublishedRows = list[tuple[str, int | None, str | None]]


@dataclass(frozen=True, slots=True)
class Access:
    """The ports for reading the stacks of a project."""

    store: Store
    planning: Planning
    clock: contract.Clock
    project: str


class InnerStackReader:
    """Reads nested stacks. An instance is used for one step, and reads each stack's published values once."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._said: dict[str, PublishedRows] = {}

    async def arn(self, stack_id: str) -> str:
        access = self._access
        # Also for a nested stack that was deleted outside of its resource.
        found = await access.store.read(lambda connection: lookups.stack(connection, access.project, stack_id))
        return stack_id if found is None else parameters.arn(access.project, found["name"], stack_id)

    async def outputs(self, stack_id: str) -> Mapping[str, Any]:
        found = await self.output_views(await self.stack(stack_id))
        return {one["output_key"]: one["output_value"] for one in found}

    async def output_views(
        self, stack: lookups.Row, only: str | None = None, *, secrets: Redactor | None = None
    ) -> list[dict[str, Any]]:
        """Return the outputs with their values, or only the output of that name; masked if `secrets` are given."""
        read = self._access.store.read
        operation = await read(lambda connection: rows.operation(connection, stack["operation_id"]))
        if operation is None or not operation.input:
            return []
        summary = await self._access.planning.summary(operation)
        shown = [output for output in summary.outputs.values() if only in (None, output.name)]
        wanted = sorted({name for output in shown for name in output.requires})
        found = await read(lambda connection: lookups.published(connection, stack["id"], wanted))
        views = outputs.of(summary.values, shown, [await self._refreshed(summary, one) for one in found])
        for output, view in zip(shown, views, strict=True):
            if view["output_value"] is None and "output_error" not in view and (why := await self._why_not(output, found)):
                view["output_error"] = why
        if secrets is None:
            return views
        return await self._access.planning.compute(
            sum(map(off_loop.weight, views)),
            lambda: [outputs.masked(output, view, secrets) for output, view in zip(shown, views, strict=True)])

    async def _why_not(self, output: Output, found: PublishedRows) -> str | None:
        """Return why an output has no value, if it reads an output of a nested stack that has an error."""
        ids = {name: id_ for name, id_, _ in found if id_ is not None}
        versions = await self._access.store.read(lambda connection: rows.versions(connection, list(ids.values())))
        # A version may have been deleted since its id was read.
        there = {name: versions[id_] for name, id_ in ids.items() if id_ in versions}
        for name, (attribute, *_) in ((name, path) for name, path in output.needs if path and name in there):
            try:
                within = await self.stack(there[name].physical_id or "")
            except errors.Permanent:
                continue
            for view in await self.output_views(within, str(attribute)):
                if "output_error" in view:
                    return f"Error in {name} output {attribute}: {view['output_error']}"
        return None

    async def members(self, stack_id: str) -> Sequence[contract.Member]:
        stack = await self.stack(stack_id)

        def unit(connection: Connection) -> list[contract.Member]:
            operation = rows.operation(connection, stack["operation_id"])
            if operation is None or not operation.input:
                return []
            template = document.load(input_of(connection, stack_id, operation.input).template).data
            states = {name: (failed, made_at) for name, failed, made_at in lookups.conditions(connection, stack_id)}
            return [contract.Member(name, one, *states.get(name, ())) for name, one in template["resources"].items()]

        return await self._access.store.read(unit)

    async def references(self, stack_id: str) -> Mapping[str, Any]:
        found = await self._published(stack_id)
        known = PublishedReferences((Input(*one) for one in found), _no_parameter)
        return {name: known.reference_id(name) for name, _, text in found if text is not None}

    async def published(self, stack_id: str, path: Sequence[Any]) -> Mapping[str, Any]:
        found = await self._published(stack_id)
        known = PublishedReferences((Input(*one) for one in found), _no_parameter)
        return {name: known.attribute(name, str(path[0]), path[1:]) for name, _, text in found if text is not None}

    async def stack(self, stack_id: str) -> lookups.Row:
        access = self._access
        found = await access.store.read(lambda connection: lookups.stack(connection, access.project, stack_id))
        if found is None or found["tomb"]:
            raise errors.Permanent(f"stack {stack_id} does not exist")
        return found

    async def _published(self, stack_id: str) -> PublishedRows:
        if stack_id not in self._said:
            read = self._access.store.read
            self._said[stack_id] = await read(lambda connection: lookups.published(connection, stack_id))
        return self._said[stack_id]

    # A group that was scaled does not publish its attributes again by itself.

    async def _refreshed(
        self, summary: StackSummary, one: tuple[str, int | None, str | None]
    ) -> tuple[str, int | None, str | None]:
        name, id_, text = one
        if id_ is None or text is None or name not in summary.groups:
            return one
        version = (await self._access.store.read(lambda connection: rows.versions(connection, [id_]))).get(id_)
        if version is None or not version.digest or not version.digest.endswith(group_base.SCALED):
            return one
        published = documents.decode(text, documents.Published)
        group = self.group(version, list(published.attributes))
        now = {attribute: await publish.shown(group, attribute) for attribute in published.attributes}
        return name, id_, documents.encode(documents.Published(published.reference, now))

    def group(self, version: Version, exports: Sequence[str]) -> AutoScalingGroup:
        """Return the group as it is now, for reading, or for computing it with another number of members."""
        state = resource_states.of(version, "", exports=exports)
        return AutoScalingGroup(state, contexts.inner(self._access.clock, self._access.project, self))


def _no_parameter(name: str) -> object:
    raise errors.Bug(f"what was published needs no parameter, not even {name}")
