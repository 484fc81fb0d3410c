"""What an operation would do to a stack and to all stacks inside it: the preview of the whole tree.

Each level is decided by the code that would apply it (`preview`); what a stack inside would be like is asked of its type,
as it would be when it is applied. Where that hangs on values that are known only then, it is left out, and the resource
is marked as uncertain. Items of a stack inside have the path to them as their name: `group.0`, `top.leaf.inner`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from isotherm.engine import decide, desired, documents, preview
from isotherm.engine.inside import Access, Inside
from isotherm.engine.preview import MASK, Change, Item, Seen
from isotherm.resources import contract, nested
from isotherm.resources.registry import Registry
from isotherm.resources.validation import MAX_DEPTH
from isotherm.states import NodeKind
from isotherm.store import reads
from isotherm.template import environment

_AFRESH = (decide.Verdict.CREATE.value, decide.Verdict.REPLACE.value)


class Foresight:
    """Looks at a tree of stacks."""

    def __init__(self, inside: Inside, access: Access, types: Registry, deepest: int = MAX_DEPTH) -> None:
        self._inside = inside
        self._access = access
        self._types = types
        self._deepest = deepest

    async def items(
        self, asked: desired.Asked, goal: desired.Desired, stack_id: str | None, depth: int = 0
    ) -> list[Item]:
        """What would happen to the stack (None: it is yet to be) and inside it, in the order of the template."""
        found: list[Item] = []
        for seen in preview.of(goal, await self._present(stack_id), self._types):
            below = await self._below(asked, goal, seen, depth)
            certain = seen.item.certain and below is not None
            found.append(replace(seen.item, certain=certain))
            found += [replace(one, name=f"{seen.item.name}.{one.name}") for one in below or ()]
        return found

    async def _below(self, asked: desired.Asked, goal: desired.Desired, seen: Seen, depth: int) -> list[Item] | None:
        """What would happen inside a resource; None if that cannot be told."""
        there = await self._stack_of(seen.row)
        if seen.item.action in (preview.NOTHING, preview.DELETE, preview.RETAIN):
            return await self._all(there, seen.item.action)
        if seen.implementation is None or not issubclass(seen.implementation, nested.StackResource):
            return await self._all(there, preview.DELETE) if seen.item.action == decide.Verdict.REPLACE.value else []
        afresh = seen.item.action in _AFRESH
        try:
            child = await self._resource(seen, None if afresh else there).foreseen(seen.item.changes)
            items = await self._inner(asked, seen, child, None if afresh else there, depth)
        except Exception:  # noqa: BLE001 - stand-ins do not fit everywhere: then nothing can be told before it is applied
            return None
        gone = await self._all(there, preview.DELETE) if afresh else []
        secrets = [goal.values[name] for name in seen.secrets]
        return [*(_masked(item, secrets) for item in items), *gone]

    async def _inner(
        self, asked: desired.Asked, seen: Seen, child: contract.Child, stack_id: str | None, depth: int
    ) -> list[Item]:
        if depth >= self._deepest:
            return []
        name = seen.item.name
        inherited = environment.load(asked.environment).child(name, child.parameters)
        inner = desired.Asked(child.template, asked.files, inherited.as_dict(), {"metadata": seen.metadata}, child.exports)
        identity = desired.Identity(name, stack_id or "None", self._access.project)
        goal = desired.desire(inner, identity, self._types, validate=False)
        return await self.items(inner, goal, stack_id, depth + 1)

    def _resource(self, seen: Seen, stack_id: str | None) -> nested.StackResource:
        row = (seen.row or {}) if stack_id is not None else {}
        known = contract.Self(
            seen.item.name, "", "", row.get("token") or "", seen.after, stack_id,
            documents.decode(row.get("data") or "{}", dict[str, Any]), exports=seen.exports,
        )
        # It reads what is there, and touches nothing.
        world = contract.World(self._access.clock, None, None, self._inside)  # type: ignore[arg-type]
        assert seen.implementation is not None
        made = seen.implementation(known, world)
        assert isinstance(made, nested.StackResource)
        return made

    async def _all(self, stack_id: str | None, action: str) -> list[Item]:
        """The same happens to everything inside: nothing, or its end."""
        found: list[Item] = []
        for row in await self._present(stack_id):
            if row["superseded"] or row["kind"] is NodeKind.BARRIER:
                continue
            item = preview.deletion(row, "") if action == preview.DELETE else Item(row["name"], row["type"] or "", action)
            below = await self._all(await self._stack_of(row), item.action)
            found += [item, *(replace(one, name=f"{item.name}.{one.name}") for one in below)]
        return found

    async def _present(self, stack_id: str | None) -> Sequence[Mapping[str, Any]]:
        if stack_id is None:
            return []
        return await self._access.store.read(lambda connection: reads.resources(connection, stack_id))

    async def _stack_of(self, row: Mapping[str, Any] | None) -> str | None:
        """The stack that a resource is, if it is one and has been made."""
        if row is None or row["physical_id"] is None or not self._is_stack(row["implementation"] or ""):
            return None
        id_, project = row["physical_id"], self._access.project
        found = await self._access.store.read(lambda connection: reads.stack(connection, project, id_))
        return None if found is None or found["tomb"] else str(found["id"])

    def _is_stack(self, implementation: str) -> bool:
        if implementation.startswith(nested.IMPLEMENTATION):
            return True
        type_ = self._types.types.get(implementation)
        return type_ is not None and issubclass(type_, nested.StackResource)


def _masked(item: Item, secrets: Iterable[object]) -> Item:
    """What was hidden outside is not told inside."""
    words = [json.dumps(one)[1:-1] if isinstance(one, str) else json.dumps(one) for one in secrets]
    if not words or not item.changes:
        return item

    def shown(change: Change) -> Change:
        # What it was before may have been hidden just as well.
        text = json.dumps([change.before, change.after])
        return Change(MASK, MASK) if any(word in text for word in words) else change

    return replace(item, changes={key: shown(one) for key, one in item.changes.items()})
