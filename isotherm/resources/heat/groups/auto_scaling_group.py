"""OS::Heat::AutoScalingGroup: a group whose size is changed by its template or by scaling policies.

Member names are generated and never reused. When the group shrinks, failed members go first, then the oldest. An update
without a size keeps the size that scaling set, within the limits.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from isotherm.resources import contract
from isotherm.resources.nested import group_base, nested_stack
from isotherm.resources.nested.group_base import REFS, REFS_MAP
from isotherm.resources.schema import INTEGER, LIST, MAP, NUMBER, AttributeSchema, Schema, Support
from isotherm.template.parameters import constraints

RESOURCE, MIN_SIZE, MAX_SIZE, DESIRED, COOLDOWN = "resource", "min_size", "max_size", "desired_capacity", "cooldown"
ROLLING = "rolling_updates"
OUTPUTS, OUTPUTS_LIST, CURRENT_SIZE = "outputs", "outputs_list", "current_size"
COOLDOWN_END = "cooldown_end"

_AT_LEAST_NONE, _AT_LEAST_ONE = (constraints.Range(minimum=0),), (constraints.Range(minimum=1),)


class AutoScalingGroup(group_base.Group):
    """A group that scales."""

    TYPE = "OS::Heat::AutoScalingGroup"
    DESCRIPTION = "Resources alike, whose number is adjusted while they live."
    support = Support(version="2014.1")
    properties_schema: ClassVar[Mapping[str, Schema]] = {
        RESOURCE: Schema(MAP, "What each member is like, as a template would say it.", required=True, update_allowed=True),
        MAX_SIZE: Schema(INTEGER, "How many members there may be.", required=True, update_allowed=True,
                         constraints=_AT_LEAST_NONE),
        MIN_SIZE: Schema(INTEGER, "How many members there must be.", required=True, update_allowed=True,
                         constraints=_AT_LEAST_NONE),
        COOLDOWN: Schema(INTEGER, "How long nothing is adjusted after an adjustment, in seconds.", update_allowed=True),
        DESIRED: Schema(INTEGER, "How many members there should be at first.", update_allowed=True),
        ROLLING: Schema(
            MAP, "How members are updated.", update_allowed=True,
            default={"min_in_service": 0, "max_batch_size": 1, "pause_time": 0},
            schema={
                "min_in_service": Schema(INTEGER, "How many members are left alone at any time.", default=0,
                                         constraints=_AT_LEAST_NONE),
                "max_batch_size": Schema(INTEGER, "How many members are changed at once.", default=1,
                                         constraints=_AT_LEAST_ONE),
                "pause_time": Schema(NUMBER, "How long to wait between two batches, in seconds.", default=0,
                                     constraints=_AT_LEAST_NONE),
            }),
    }
    attributes_schema: ClassVar[Mapping[str, AttributeSchema]] = {
        OUTPUTS: AttributeSchema("The attribute of each member that the path names, by the members' names.", MAP,
                                 support=Support(version="2014.2")),
        OUTPUTS_LIST: AttributeSchema("The attribute of each member that the path names, in a list.", LIST,
                                      support=Support(version="2014.2")),
        CURRENT_SIZE: AttributeSchema("How many members there are.", INTEGER, support=Support(version="2015.1")),
        REFS: AttributeSchema("The references of all members, in a list.", LIST, support=Support(version="7.0.0")),
        REFS_MAP: AttributeSchema("The references of all members, by their names.", MAP, support=Support(version="7.0.0")),
    }

    @classmethod
    def validate_properties(cls, properties: Mapping[str, Any]) -> Iterator[str]:
        least, most, wanted = properties[MIN_SIZE], properties[MAX_SIZE], properties[DESIRED]
        if most < least:
            yield "MinSize can not be greater than MaxSize"
        elif wanted is not None and not least <= wanted <= most:
            yield "DesiredCapacity must be between MinSize and MaxSize"

    @classmethod
    def template_for(cls, properties: Mapping[str, Any]) -> str | None:
        if not properties.get(RESOURCE):
            return None
        group_base.check_size(_first_size(properties))
        return group_base.template({"member": properties[RESOURCE]}) if _first_size(properties) else None

    @classmethod
    def copies(cls, properties: Mapping[str, Any]) -> int:
        return _first_size(properties)

    # Operations.

    async def handle_create(self) -> object:
        return {"operation": await self.start(await self.resized(_first_size(self.properties), ()))}

    async def handle_update(self, before: Mapping[str, Any], changed: Mapping[str, Any]) -> object:
        if self.physical_id is None:
            return await self.handle_create()
        there = await self.in_order()
        size = self._size(there, changed)
        if RESOURCE not in changed or not there:
            return {"operation": await self.start(await self.resized(size, there))}
        policy = self.properties[ROLLING]
        fresh = sum(group_base.is_fresh(member, self.properties[RESOURCE]) for member in there)
        steps = list(group_base.batches(len(there), len(there), fresh, policy["max_batch_size"], policy["min_in_service"]))
        if size != len(there) or not steps:
            steps.append((size, size))
        return await self.in_batches(steps, policy["pause_time"])

    def _size(self, there: Sequence[contract.Member], changed: Mapping[str, Any]) -> int:
        """Return the number of members that an update leads to."""
        working = sum(not member.failed for member in there)
        # An update that is about something else leaves the size as scaling has made it.
        return bounded((self.properties[DESIRED] or working) if changed else working, self.properties)

    async def foreseen(self, changed: Mapping[str, Any]) -> contract.Child:
        if self.physical_id is None:
            return await self.resized(_first_size(self.properties), ())
        there = await self.in_order()
        return await self.resized(self._size(there, changed), there)

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return self._start_cooldown_after(await super().check_create_complete(progress))

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return self._start_cooldown_after(await super().check_update_complete(progress))

    def _start_cooldown_after(self, ended: bool | contract.Wait) -> bool | contract.Wait:
        if ended is True:
            until = self.context.clock.now() + max(0, self.properties[COOLDOWN] or 0)
            self.data[COOLDOWN_END] = max(until, self.data.get(COOLDOWN_END, 0))
        return ended

    async def stage(self, capacity: int, fresh: int, *, last: bool) -> contract.Child:
        there = await self.in_order()
        return self._arranged(there, capacity, capacity if last else fresh)

    async def resized(self, size: int, there: Sequence[contract.Member]) -> contract.Child:
        """Return the nested stack with so many members, all with the wanted definition."""
        return self._arranged(there, size, size)

    def _arranged(self, there: Sequence[contract.Member], capacity: int, fresh: int) -> contract.Child:
        group_base.check_size(capacity)
        kept = there[max(0, len(there) - capacity):]
        names = self._new_names({member.name for member in there})
        after, held = group_base.arrange(kept, names, lambda name: self.properties[RESOURCE], capacity, fresh)
        return self.child_of(after, held)

    def _new_names(self, taken: set[str]) -> Iterator[str]:
        """Return names derived from the token, so that a repeated operation chooses the same names."""
        used: int = self.data.get("named", 0)
        for number in itertools.count(used):
            name = member_name(self.token, number)
            if name not in taken:
                self.data["named"] = number + 1
                yield name

    async def in_order(self) -> list[contract.Member]:
        """Return the members in the order in which they are removed."""
        found = await self.stacks.members(self.physical_id or "")
        return sorted(found, key=lambda one: (not one.failed, one.made_at is None, one.made_at, one.name))

    # Published values.

    def exported(self, paths: Any) -> dict[str, list[list[Any]]]:
        """Return the attributes that members have to publish: all of them, because a member's index changes."""
        wanted = (self.of_members(name, path) for name, path in paths)
        found = [path for path in wanted if path]
        return {"*": found} if found else {}

    def of_members(self, name: str, path: list[Any]) -> list[Any]:
        place, tail = nested_stack.within(name)
        if place:
            return [*tail, *path]
        return path if name in (OUTPUTS, OUTPUTS_LIST) else []

    async def attribute(self, name: str) -> object:
        name, path = group_base.split(name)
        if self.physical_id is None:
            return None
        names = [member.name for member in await self.in_order() if not member.failed]
        if name == CURRENT_SIZE:
            return len(names)
        asked = self.of_members(name, path)
        found = await self.published(asked) if asked else await self.references()
        there = {one: found[one] for one in names if one in found}
        place, _ = nested_stack.within(name)
        if place:
            try:
                return there[names[int(place)]]
            except (ValueError, IndexError, KeyError):
                raise self.not_found(place) from None
        if name not in (OUTPUTS, OUTPUTS_LIST, REFS, REFS_MAP) or (name in (OUTPUTS, OUTPUTS_LIST) and not path):
            raise ValueError(f"The Referenced Attribute ({self.name} {name}) is incorrect.")
        whole: Any = list(there.values()) if name in (OUTPUTS_LIST, REFS) else there
        return whole if asked else group_base.selected(whole, path)


def bounded(size: int, properties: Mapping[str, Any]) -> int:
    return int(max(properties[MIN_SIZE], min(properties[MAX_SIZE], size)))


def _first_size(properties: Mapping[str, Any]) -> int:
    return int(properties.get(DESIRED) or properties.get(MIN_SIZE) or 0)


def member_name(token: str, number: int) -> str:
    digest = hashlib.blake2b(f"{token}/{number}".encode(), digest_size=15).digest()
    return base64.b32encode(digest).decode().lower()[:12]
