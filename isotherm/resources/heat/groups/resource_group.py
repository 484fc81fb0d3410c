"""OS::Heat::ResourceGroup: a number of identical resources, named 0, 1, 2, ..., in a nested stack.

Names removed by a removal policy are not reused: they are kept in the resource's data. A smaller count removes the
highest names.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.nested import group_base
from isotherm.resources.nested.group_base import ATTRIBUTES, REFS, REFS_MAP, REMOVED
from isotherm.resources.schema import INTEGER, LIST, MAP, NUMBER, STRING, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

COUNT, INDEX_VAR, RESOURCE_DEF = "count", "index_var", "resource_def"
REMOVAL_POLICIES, REMOVAL_MODE = "removal_policies", "removal_policies_mode"
ROLLING_UPDATE, BATCH_CREATE = "rolling_update", "batch_create"

SIZE = Schema(INTEGER, "How many members are changed at once.", default=1, constraints=(constraints.Range(minimum=1),))
PAUSE = Schema(NUMBER, "How long to wait between two batches, in seconds.", default=0,
                constraints=(constraints.Range(minimum=0),))


class ResourceGroup(group_base.NumberedGroup):
    """A number of identical resources."""

    TYPE = "OS::Heat::ResourceGroup"
    DESCRIPTION = "Resources made after one definition, as many as are wanted."
    support = Support(version="2014.1")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        COUNT: Schema(INTEGER, "How many resources there are.", default=1, update_allowed=True,
                      constraints=(constraints.Range(minimum=0),)),
        INDEX_VAR: Schema(STRING, "What stands for the name of a member in its properties.", default="%index%",
                          constraints=(constraints.Length(minimum=3),), support=Support(version="2014.2")),
        RESOURCE_DEF: Schema(
            MAP, "What each resource is like.", required=True, update_allowed=True,
            schema={
                "type": Schema(STRING, "The type of the resources.", required=True),
                "properties": Schema(MAP, "The properties of the resources."),
                "metadata": Schema(MAP, "The metadata of the resources.", support=Support(version="5.0.0")),
            }),
        REMOVAL_POLICIES: Schema(
            LIST, "Which resources go first when there are to be fewer; their names are not used again.", default=[],
            update_allowed=True, support=Support(version="2015.1"),
            schema=Schema(MAP, schema={
                "resource_list": Schema(LIST, "Names or references of resources to be removed.", default=[])})),
        REMOVAL_MODE: Schema(
            STRING, "Whether a change of the removal policies adds to what was removed before, or stands for itself.",
            default="append", update_allowed=True, constraints=(constraints.AllowedValues(allowed=("append", "update")),),
            support=Support(version="10.0.0")),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        REFS: AttributeSchema("The references of all members, in a list.", LIST),
        REFS_MAP: AttributeSchema("The references of all members, by their names.", MAP, support=Support(version="7.0.0")),
        ATTRIBUTES: AttributeSchema("The attribute of each member that the path names, by the members' names.", MAP,
                                    support=Support(version="2014.2")),
        REMOVED: AttributeSchema("The names that were removed.", LIST, support=Support(version="7.0.0")),
    }
    update_policy_schema: ClassVar[Mapping[str, Schema]] = {
        ROLLING_UPDATE: Schema(MAP, "How members are updated.", support=Support(version="5.0.0"), schema={
            "min_in_service": Schema(INTEGER, "How many members are left alone at any time.", default=0,
                                     constraints=(constraints.Range(minimum=0),)),
            "max_batch_size": SIZE, "pause_time": PAUSE}),
        BATCH_CREATE: Schema(MAP, "How members are created.", support=Support(version="5.0.0"),
                             schema={"max_batch_size": SIZE, "pause_time": PAUSE}),
    }

    # Desired state.

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        """Return a template with one member, which represents all; a group without members is not validated."""
        if not group_base.check_size(properties.get(COUNT) or 0) or not properties.get(RESOURCE_DEF):
            return None
        name = next(_names(_listed(properties)))
        return group_base.template({name: _member(name, properties)})

    @classmethod
    def copies(cls, properties: Mapping[str, Any]) -> int:
        return properties.get(COUNT) or 0

    @property
    def removed(self) -> list[str]:
        """Return the names that are not used any more."""
        kept: list[str] = self.data["removed"] if "removed" in self.data else sorted(_listed(self.properties))
        return kept

    def names(self, size: int | None = None) -> list[str]:
        wanted = self.properties[COUNT] if size is None else size
        return list(itertools.islice(_names(set(self.removed)), group_base.check_size(wanted)))

    def make(self, name: str) -> group_base.Definition:
        return _member(name, self.properties)

    async def whole(self) -> contract.Child:
        return self.child_of({name: self.make(name) for name in self.names()})

    async def stage(self, capacity: int, fresh: int, *, last: bool) -> contract.Child:
        if last:
            return await self.whole()
        names, target = self.names(capacity), self.properties[COUNT]
        there = {} if self.physical_id is None else {
            member.name: member for member in await self.stacks.members(self.physical_id)}
        # The highest of those that stay are changed first; those on top of the target are gone soon anyway.
        order = [*reversed(names[:target]), *names[target:]]
        kept = [there[name] for name in order if name in there]
        after, held = group_base.arrange(kept, (name for name in names if name not in there), self.make, capacity, fresh)
        return self.child_of({name: after[name] for name in names}, held)

    async def foreseen(self, changed: Mapping[str, Any]) -> contract.Child:
        if self.physical_id is not None:
            await self._remove()
        return await self.whole()

    # Operations.

    async def handle_create(self) -> object:
        self.data["removed"] = sorted(_listed(self.properties))
        policy = self.policy(BATCH_CREATE)
        if not policy or not self.properties[COUNT]:
            return await self.at_once()
        steps = group_base.batches(len(self.names()), 0, 0, policy["max_batch_size"], 0)
        return await self.in_batches(steps, policy["pause_time"])

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.physical_id is None:
            return await self.handle_create()
        removed = self.removed
        await self._remove()
        policy = self.policy(ROLLING_UPDATE)
        if policy and RESOURCE_DEF in changed:
            return await self._roll(policy)
        if self.removed != removed:
            # The members to remove follow from those that exist, so they are stored before any is deleted.
            return await self.in_batches([(self.properties[COUNT], 0)], 0)
        return await self.at_once()

    async def _roll(self, policy: Mapping[str, Any]) -> dict[str, Any]:
        there = {member.name: member for member in await self.stacks.members(self.physical_id or "")}
        wanted = self.names()
        fresh = sum(name in there and group_base.is_fresh(there[name], self.make(name)) for name in wanted)
        current = len(there.keys() - set(self.removed))
        steps = list(group_base.batches(len(wanted), current, fresh, policy["max_batch_size"], policy["min_in_service"]))
        return await self.in_batches(steps or [(len(wanted), len(wanted))], policy["pause_time"])

    async def _remove(self) -> None:
        """Apply the removal policies to the names that are not used any more."""
        known = set(self.removed)
        listed = _listed(self.properties)
        names = listed & known
        if listed - known:
            there = {member.name for member in await self.stacks.members(self.physical_id or "")}
            by_reference = {reference: name for name, reference in (await self.references()).items()
                            if isinstance(reference, str)}
            names |= {name if name in there else by_reference.get(name, "") for name in listed - known}
        kept = set() if self.properties[REMOVAL_MODE] == "update" else known
        self.data["removed"] = sorted((kept | names) - {""})

    # Published values.

    async def attribute(self, name: str) -> object:
        asked, path = group_base.split(name)
        return group_base.selected(self.removed, path) if asked == REMOVED else await super().attribute(name)


def _names(besides: Collection[str]) -> Iterator[str]:
    return (name for name in map(str, itertools.count()) if name not in besides)


def _listed(given: Mapping[str, Any]) -> set[str]:
    policies = given.get(REMOVAL_POLICIES) or ()
    return {str(name) for policy in policies for name in policy.get("resource_list") or ()}


def _member(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of one member."""
    pattern = given[RESOURCE_DEF]
    made: dict[str, Any] = {"type": pattern["type"]}
    own = {key: value for key, value in (pattern.get("properties") or {}).items() if value is not None}
    if own:
        made["properties"] = _named(own, given.get(INDEX_VAR) or "%index%", name)
    if pattern.get("metadata"):
        made["metadata"] = pattern["metadata"]
    return made


def _named(value: Any, variable: str, name: str) -> Any:
    if isinstance(value, str):
        return value.replace(variable, name)
    if isinstance(value, Mapping):
        return {key: _named(one, variable, name) for key, one in value.items()}
    if isinstance(value, list):
        return [_named(one, variable, name) for one in value]
    return value
