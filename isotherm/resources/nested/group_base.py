"""Base classes of groups: resources whose nested stack has members made from one definition.

A group changes all members at once, or in batches with pauses. Batches are computed before the first one begins, and
the remaining ones are stored in the resource's progress. Each batch is one operation on the nested stack. A batch
states the wanted result (number of members, and how many of them are new), so that repeating it changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from isotherm import errors
from isotherm.resources import contract, properties
from isotherm.resources.nested import nested_stack
from isotherm.template.model import definitions

# Maximum number of members of a group. A larger group is refused before anything is created.
MAX_MEMBERS = 100_000
# The template version of the nested stack: functions of newer versions are plain data in the members' properties.
VERSION = "2015-04-30"

# Suffix of the digest of a group that was scaled since its stack was last updated, so that the next update visits it.
SCALED = "~scaled"

Definition = Mapping[str, Any]


def template(members: Mapping[str, Definition]) -> str:
    """Return the template of a stack with these members."""
    return json.dumps({"heat_template_version": VERSION, "resources": members})


def check_size(size: int) -> int:
    if size > MAX_MEMBERS:
        raise errors.UserError("Request limit exceeded: Maximum resources per stack exceeded.", kind="RequestLimitExceeded",
                               hint=f"a stack has at most {MAX_MEMBERS} resources")
    return size


def batches(target: int, current: int, fresh: int, size: int, in_service: int) -> Iterator[tuple[int, int]]:
    """Return the batches from `current` members, `fresh` of them up to date, to `target` fresh ones, `size` at a time.

    Each batch is the number of members after it, and how many of those are up to date. To leave `in_service` members
    untouched at any time, there may be more than `target` members in between; the last batch removes the surplus.
    """
    while not (current == target and fresh >= target):
        step = min(size, max(target - fresh, 0))
        capacity = step + max(min(current, target - step), min(in_service, target, current))
        yield capacity, fresh + step
        surplus = max(capacity - max(current, target), 0)
        fresh += step - surplus
        current = capacity


def is_fresh(member: contract.Member, wanted: Definition) -> bool:
    """Return whether a member has the wanted definition and the current files and environment."""
    return member.current and member.definition == wanted


def arrange(
    kept: Sequence[contract.Member], new_names: Iterable[str], make: Callable[[str], Definition], capacity: int,
    fresh: int,
) -> tuple[dict[str, Definition], frozenset[str]]:
    """Return the members after a batch, and the names of those that the batch does not reach.

    The members in `kept` stay, and are updated in their order.
    """
    wanted = {member.name: make(member.name) for member in kept}
    missing = capacity - len(kept)
    stale = [member.name for member in kept if not is_fresh(member, wanted[member.name])]
    reached = max(fresh - missing - (len(kept) - len(stale)), 0)
    held = frozenset(stale[reached:])
    after = {member.name: member.definition if member.name in held else wanted[member.name] for member in kept}
    names = iter(new_names)
    for _ in range(missing):
        name = next(names)
        after[name] = make(name)
    return after, held


def split(attribute: str) -> tuple[str, list[Any]]:
    """Return the name and the path of an attribute that is read from a group."""
    if not attribute.startswith("["):
        return attribute, []
    name, *path = json.loads(attribute)
    return str(name), path


class Group(nested_stack.StackResource):
    """A resource whose nested stack has members."""

    attributes_by_path = True
    traits = contract.Traits(has_more_attributes=True)

    async def whole(self) -> contract.Child:
        """Return the nested stack as it should be in the end."""
        raise NotImplementedError

    async def foreseen(self, changed: Mapping[str, Any]) -> contract.Child:
        return await self.whole()

    async def stage(self, capacity: int, fresh: int, *, last: bool) -> contract.Child:
        """Return the nested stack after a batch with `capacity` members, `fresh` of them as they should be in the end."""
        raise NotImplementedError

    # Operations, at once or in batches.

    def policy(self, name: str) -> Mapping[str, Any] | None:
        """Return one update policy, typed by its schema, or None."""
        given = (self.update_policy or {}).get(name)
        if given is None:
            return None
        typed: Mapping[str, Any] = properties.convert(self.update_policy_schema, {name: given})[name]
        return typed

    async def start(self, child: contract.Child) -> str:
        if self.physical_id is None:
            self.physical_id, operation = await self.stacks.create(self.physical_name, child)
            return operation
        return await self.stacks.update(self.physical_id, child)

    async def at_once(self) -> dict[str, Any]:
        return {"operation": await self.start(await self.whole())}

    async def in_batches(self, steps: Iterable[tuple[int, int]], pause_s: float) -> dict[str, Any]:
        """Return the progress of a change in batches. Nothing begins before the progress is stored."""
        plan = [list(step) for step in steps]
        left_s = await self.stacks.time_left_s()
        if left_s is not None and pause_s * (len(plan) - 1) >= left_s:
            raise ValueError("The current update policy will result in stack update timeout.")
        return {"steps": plan, "pause_s": pause_s, "stored": False}

    async def check_create_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._go_on(progress)

    async def check_update_complete(self, progress: Any) -> bool | contract.Wait:
        return await self._go_on(progress)

    async def _go_on(self, progress: Any) -> bool | contract.Wait:
        if not progress or "stored" not in progress:
            return await self._ended(progress)
        if not progress["stored"]:
            return contract.Wait(0, "planned", progress | {"stored": True})
        if progress.get("operation"):
            ended = await self._ended(progress)
            if ended is not True:
                return ended
            return self._pause(progress | {"operation": None}) if progress["steps"] else True
        left_s = progress.get("until", 0) - self.context.clock.now()
        if left_s > 0 and not await self.stacks.cancelled():
            return contract.Wait(left_s, "pausing between two batches")
        return await self._next(progress)

    def _pause(self, progress: dict[str, Any]) -> contract.Wait:
        pause_s = progress["pause_s"]
        return contract.Wait(pause_s, "pausing between two batches",
                             progress | {"until": self.context.clock.now() + pause_s})

    async def _next(self, progress: dict[str, Any]) -> bool | contract.Wait:
        (capacity, fresh), *rest = progress["steps"]
        operation = await self.start(await self.stage(capacity, fresh, last=not rest))
        under_way = progress | {"operation": operation, "steps": rest}
        ended = await self._ended(under_way)
        if isinstance(ended, contract.Wait):
            return contract.Wait(ended.seconds, ended.reason, under_way, ended.awaits)
        return self._pause(under_way | {"operation": None}) if rest else True

    # Published values.

    def exported(self, paths: Iterable[tuple[str, list[Any]]]) -> dict[str, list[list[Any]]]:
        """Return the attributes that members have to publish, by member name or `*` for all."""
        wanted: dict[str, list[list[Any]]] = {}
        for name, path in paths:
            member, tail = nested_stack.within(name)
            if member and [*tail, *path]:
                wanted.setdefault(member, []).append([*tail, *path])
            elif not member and (of_all := self.of_members(name, path)):
                wanted.setdefault("*", []).append(of_all)
        return wanted

    def of_members(self, name: str, path: list[Any]) -> list[Any]:
        """Return the path to read from each member for an attribute of the group; empty, if none."""
        raise NotImplementedError

    def child_of(self, members: Mapping[str, Definition], held: frozenset[str] = frozenset()) -> contract.Child:
        return contract.Child(template(members), exports=self.exported(map(split, self.exports)), held=held)

    def not_found(self, member: str) -> errors.NotFound:
        return errors.NotFound(f"Member '{member}' not found in group resource '{self.name}'.")

    async def of_one(self, member: str, path: list[Any]) -> Any:
        """Return the value of `resource.NAME` or `resource.NAME.ATTRIBUTE`."""
        if self.physical_id is None:
            return None
        if path:
            found = await self.stacks.published(self.physical_id, path)
        else:
            found = await self.stacks.references(self.physical_id)
        if member not in found:
            raise self.not_found(member)
        return found[member]

    async def references(self) -> Mapping[str, Any]:
        return {} if self.physical_id is None else await self.stacks.references(self.physical_id)

    async def published(self, path: list[Any]) -> Mapping[str, Any]:
        return {} if self.physical_id is None else await self.stacks.published(self.physical_id, path)


REFS, REFS_MAP, ATTRIBUTES, REMOVED = "refs", "refs_map", "attributes", "removed_rsrc_list"


class NumberedGroup(Group):
    """A group whose members are named 0, 1, 2, ... and are read in that order."""

    @classmethod
    def relocated(cls, problem: errors.Problem, around: str) -> errors.Problem:
        # As in Heat, an unknown type is reported without the path to the member.
        unknown_type = not problem.path and problem.message.startswith("The Resource Type (")
        return problem if unknown_type else super().relocated(problem, around)

    def names(self) -> list[str]:
        raise NotImplementedError

    def of_members(self, name: str, path: list[Any]) -> list[Any]:
        if name in (REFS, REFS_MAP, REMOVED):
            return []
        return path if name == ATTRIBUTES else [name, *path]

    async def attribute(self, name: str) -> object:
        name, path = split(name)
        member, tail = nested_stack.within(name)
        if member:
            return await self.of_one(member, [*tail, *path])
        if name in (REFS, REFS_MAP):
            found = await self.references()
            return selected(self._in_order(found, as_list=name == REFS), path)
        asked = self.of_members(name, path)
        if not asked:
            raise ValueError(f"The Referenced Attribute ({self.name} {name}) is incorrect.")
        return self._in_order(await self.published(asked), as_list=name != ATTRIBUTES)

    def _in_order(self, found: Mapping[str, Any], *, as_list: bool) -> Any:
        names = [name for name in self.names() if name in found]
        return [found[name] for name in names] if as_list else {name: found[name] for name in names}


def selected(value: Any, path: list[Any]) -> Any:
    return definitions.select(value, tuple(path)) if path else value
