"""What an operation would do to a stack and to all stacks inside it: the preview of the whole tree.

Each level is decided by the code that would apply it (`preview`); what a stack inside would be like is asked of its type,
as it would be when it is applied. Where that hangs on values that are known only then, it is left out, and the resource
is marked as uncertain. Items of a stack inside have the path to them as their name: `group.0`, `top.leaf.inner`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isotherm.engine import contexts
from isotherm.engine.nested.inner_reads import Access, InnerStackReader
from isotherm.engine.preview import update_preview
from isotherm.engine.preview.update_preview import Change, Item, Seen
from isotherm.engine.steps import decide
from isotherm.planning import desired, documents, masking, off_loop
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.resources.validation.validate import MAX_DEPTH
from isotherm.secrets import MASK, Redactor
from isotherm.states import NodeKind
from isotherm.store.operations import plan
from isotherm.store.reads import lookups
from isotherm.template.model import definitions

_AFRESH = (decide.Verdict.CREATE.value, decide.Verdict.REPLACE.value)


@dataclass(frozen=True, slots=True)
class Place:
    """The stack that a resource is, or will be, in."""

    stack_name: str
    # None: it is yet to be.
    stack_id: str | None
    # The resource that the stack is, if it is inside of another.
    resource: str = ""


@dataclass(frozen=True, slots=True)
class Sight:
    """What would happen to a resource, and inside it."""

    seen: Seen
    place: Place
    below: Sequence[Sight] = ()
    # Nothing is known of what would happen inside.
    dim: bool = False
    # As it would be then; None if it would not.
    definition: definitions.Definition | None = None
    # Who requires it: now, and then.
    required_now: Sequence[str] = ()
    required_then: Sequence[str] = ()


class Foresight:
    """Looks at a tree of stacks."""

    def __init__(self, inside: InnerStackReader, access: Access, types: Registry, deepest: int = MAX_DEPTH) -> None:
        self._inside = inside
        self._access = access
        self._types = types
        self._deepest = deepest

    async def items(self, asked: desired.Asked, goal: desired.Desired, place: Place) -> list[Item]:
        """What would happen to the stack and inside it, in the order of the template."""
        return list(_flat(await self.tree(asked, goal, place)))

    async def tree(
        self, asked: desired.Asked, goal: desired.Desired, place: Place, depth: int = 0
    ) -> list[Sight]:
        """The same with all that is known of it, each stack inside where it belongs."""
        found: list[Sight] = []
        goal = await self._recognised(goal, place.stack_id)
        present = await self._present(place.stack_id)
        now, then = _required_now(present), _required_then(goal)
        wanted = goal
        looked = await self._access.planning.compute(
            asked.size, lambda: update_preview.of(wanted, present, self._types))
        for seen in looked:
            below = await self._below(asked, goal, seen, place, depth)
            name = seen.item.name
            found.append(Sight(seen, place, below or (), below is None, goal.bound.definitions.get(name),
                               now.get(name, ()), then.get(name, ())))
        return found

    async def _recognised(self, goal: desired.Desired, stack_id: str | None) -> desired.Desired:
        """What is wanted, as far as it can be compared with what is there."""
        if stack_id is None:
            return goal
        read = self._access.store.read
        return replace(goal, wanted=await read(lambda connection: plan.recognised(connection, stack_id, goal.wanted)))

    async def _below(
        self, asked: desired.Asked, goal: desired.Desired, seen: Seen, place: Place, depth: int
    ) -> list[Sight] | None:
        """What would happen inside a resource; None if that cannot be told."""
        there = await self._stack_of(seen.row)
        if seen.item.action in (update_preview.NOTHING, update_preview.DELETE, update_preview.RETAIN):
            return await self._all(there, seen.item.action)
        if not seen.is_stack:
            return await self._all(there, update_preview.DELETE) if seen.item.action == decide.Verdict.REPLACE.value else []
        afresh = seen.item.action in _AFRESH or there is None
        name = seen.item.name
        inner = Place(f"{place.stack_name}-{name}", None, name) if afresh or there is None else there
        try:
            child = await self._resource(seen, inner.stack_id).foreseen(seen.item.changes)
            sights = await self._inner(asked, seen, child, inner, depth)
        except Exception:  # noqa: BLE001 - stand-ins do not fit everywhere: then nothing can be told before it is applied
            return None
        gone = await self._all(there, update_preview.DELETE) if afresh else []
        hidden = [goal.values[name] for name in seen.secrets]

        def masked() -> list[Sight]:
            secrets = Redactor(hidden)
            return [_masked(one, secrets) for one in sights]

        shown = await self._access.planning.compute(off_loop.weight(hidden) + asked.size, masked) if hidden else sights
        return [*shown, *gone]

    async def _inner(
        self, asked: desired.Asked, seen: Seen, child: contract.Child, place: Place, depth: int
    ) -> list[Sight]:
        if depth >= self._deepest:
            return []
        around = masking.Around(seen.item.name, seen.item.type, {"metadata": seen.metadata})
        identity = desired.Identity(place.stack_name, place.stack_id or "None", self._access.project)

        def desire() -> tuple[desired.Asked, desired.Desired]:
            secrets = masking.redactor(asked)
            inner = masking.inner(asked, around, child, self._types, secrets)
            return inner, desired.desire(inner, identity, self._types, validate=False)

        inner, goal = await self._access.planning.compute(asked.size + len(child.template), desire)
        return await self.tree(inner, goal, place, depth + 1)

    def _resource(self, seen: Seen, stack_id: str | None) -> nested_stack.StackResource:
        row = (seen.row or {}) if stack_id is not None else {}
        state = contract.ResourceState(
            name=seen.item.name, stack_name="", stack_id="", token=row.get("token") or "", properties=seen.after,
            physical_id=stack_id, data=documents.decode(row.get("data") or "{}", dict[str, Any]), exports=seen.exports,
        )
        assert seen.implementation is not None
        made = seen.implementation(state, contexts.inner(self._access.clock, self._access.project, self._inside))
        assert isinstance(made, nested_stack.StackResource)
        return made

    async def _all(self, place: Place | None, action: str) -> list[Sight]:
        """The same happens to everything inside: nothing, or its end."""
        found: list[Sight] = []
        present = await self._present(place.stack_id) if place else []
        now = _required_now(present)
        for row in present:
            if row["superseded"] or row["kind"] is NodeKind.BARRIER:
                continue
            item = (
                update_preview.deletion(row, "")
                if action == update_preview.DELETE
                else Item(row["name"], row["type"] or "", action)
            )
            assert place is not None
            below = await self._all(await self._stack_of(row), item.action)
            found.append(Sight(Seen(item, row), place, below, required_now=now.get(item.name, ())))
        return found

    async def _present(self, stack_id: str | None) -> Sequence[Mapping[str, Any]]:
        if stack_id is None:
            return []
        return await self._access.store.read(lambda connection: lookups.resources(connection, stack_id))

    async def _stack_of(self, row: Mapping[str, Any] | None) -> Place | None:
        """The stack that a resource is, if it is one and has been made."""
        if row is None or row["physical_id"] is None or not self._is_stack(row["implementation"] or ""):
            return None
        id_, project = row["physical_id"], self._access.project
        found = await self._access.store.read(lambda connection: lookups.stack(connection, project, id_))
        return None if found is None or found["tomb"] else Place(found["name"], found["id"], row["name"])

    def _is_stack(self, implementation: str) -> bool:
        if nested_stack.is_template(implementation):
            return True
        type_ = self._types.types.get(implementation)
        return type_ is not None and issubclass(type_, nested_stack.StackResource)


def _flat(sights: Iterable[Sight], around: str = "") -> Iterator[Item]:
    for one in sights:
        name = around + one.seen.item.name
        yield replace(one.seen.item, name=name, certain=one.seen.item.certain and not one.dim)
        yield from _flat(one.below, name + ".")


def _required_then(goal: desired.Desired) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, definition in goal.bound.definitions.items():
        for need in definition.requires:
            found.setdefault(need, []).append(name)
    return found


def _required_now(present: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    names = {row["id"]: row["name"] for row in present}
    found: dict[str, list[str]] = {}
    for row in present:
        for need in documents.decode(row["requires"] or "[]", list[int]):
            if need in names:
                found.setdefault(names[need], []).append(row["name"])
    return found


def _masked(sight: Sight, secrets: Redactor) -> Sight:
    """What was hidden outside is not told inside."""
    # What it was before may have been hidden just as well.
    changes = {key: Change(MASK, MASK) if secrets.has_secret([one.before, one.after]) else one
               for key, one in sight.seen.item.changes.items()}
    hidden = {key for key, value in sight.seen.after.items() if secrets.has_secret(value)}
    seen = replace(sight.seen, item=replace(sight.seen.item, changes=changes), hidden=sight.seen.hidden | hidden)
    return replace(sight, seen=seen, below=[_masked(one, secrets) for one in sight.below])
