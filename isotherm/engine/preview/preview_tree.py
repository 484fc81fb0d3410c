"""The preview of a tree of stacks: a stack and all stacks nested in it.

`update_preview` decides each level. The type of a nested stack says which template it would have, as it does when it is
applied. Where the template depends on values that are known only then, the children are left out and the resource is marked
uncertain. Items of nested stacks have the path as their name: `group.0`, `top.leaf.inner`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isotherm.engine import contexts
from isotherm.engine.nested.inner_reads import Access, InnerStackReader
from isotherm.engine.preview import update_preview
from isotherm.engine.preview.update_preview import PreviewItem, PropertyChange, ResourcePreview
from isotherm.engine.steps import decide
from isotherm.planning import desired, documents, masking, off_loop
from isotherm.resources import contract
from isotherm.resources.nested import nested_stack
from isotherm.resources.registry import Registry
from isotherm.resources.validation.validate import MAX_DEPTH
from isotherm.secrets import MASK, Redactor
from isotherm.states import NodeKind
from isotherm.store.operations import move, plan
from isotherm.store.reads import lookups
from isotherm.store.records import NO_MOVES, Moves, OperationScope
from isotherm.template.model import definitions

_NEW = (decide.Verdict.CREATE.value, decide.Verdict.REPLACE.value)


@dataclass(frozen=True, slots=True)
class PreviewStack:
    """The stack that a resource is, or will be, part of."""

    stack_name: str
    # None: it does not exist yet.
    stack_id: str | None
    # The resource that a nested stack belongs to.
    resource: str = ""


@dataclass(frozen=True, slots=True)
class PreviewNode:
    """The preview of one resource, and of the resources nested in it."""

    preview: ResourcePreview
    stack: PreviewStack
    children: Sequence[PreviewNode] = ()
    # Whether the resource has children that cannot be previewed.
    children_unknown: bool = False
    # Its definition in the new template; None if it has none.
    definition: definitions.Definition | None = None
    # The resources that require it: before and after the operation.
    required_now: Sequence[str] = ()
    required_then: Sequence[str] = ()


class PreviewTree:
    """Previews trees of stacks."""

    def __init__(self, inside: InnerStackReader, access: Access, types: Registry, deepest: int = MAX_DEPTH) -> None:
        self._inside = inside
        self._access = access
        self._types = types
        self._deepest = deepest

    async def items(
        self, input_: desired.StackInput, goal: desired.Desired, stack: PreviewStack, moves: Moves,
        scope: OperationScope | None = None,
    ) -> list[PreviewItem]:
        """Return the changes to the stack and its nested stacks as a flat list, in the order of the template."""
        return [replace(one.item, name=".".join((*one.around, one.item.name)))
                for one in planned(await self.tree(input_, goal, stack, moves, scope))]

    async def tree(
        self, input_: desired.StackInput, goal: desired.Desired, stack: PreviewStack, moves: Moves = NO_MOVES,
        scope: OperationScope | None = None, depth: int = 0,
    ) -> list[PreviewNode]:
        """Return the previews of the stack's resources, with nested stacks as children. `scope`: of a limited update.

        Raises UserError for moves that are not possible.
        """
        found: list[PreviewNode] = []
        goal = await self._recognised(goal, stack.stack_id)
        names = await self._names(stack.stack_id, moves)
        present = update_preview.moved(await self._present(stack.stack_id), names)
        now, then = _required_now(present), _required_then(goal)
        wanted = goal
        previews = await self._access.planning.compute(
            input_.size, lambda: update_preview.preview_resources(wanted, present, self._types, scope))
        for preview in update_preview.with_moves(previews, names):
            children = await self._children(input_, goal, preview, stack, depth)
            name = preview.item.name
            found.append(PreviewNode(preview, stack, children or (), children is None, goal.bound.definitions.get(name),
                                     now.get(name, ()), then.get(name, ())))
        return found

    async def _recognised(self, goal: desired.Desired, stack_id: str | None) -> desired.Desired:
        """Return the desired state in the form in which it can be compared with the stored nodes."""
        if stack_id is None:
            return goal
        read = self._access.store.read
        return replace(goal, wanted=await read(lambda connection: plan.recognised(connection, stack_id, goal.wanted)))

    async def _children(
        self, input_: desired.StackInput, goal: desired.Desired, preview: ResourcePreview, stack: PreviewStack, depth: int
    ) -> list[PreviewNode] | None:
        """Return the previews nested in a resource; None if they are unknown."""
        there = await self._stack_of(preview.row)
        if preview.item.action in (update_preview.DELETE, update_preview.RETAIN):
            return await self._uniform(there, preview.item.action)
        if preview.item.action in (update_preview.NOTHING, update_preview.MOVE):
            return await self._uniform(there, update_preview.NOTHING)
        if not preview.is_stack:
            is_replaced = preview.item.action == decide.Verdict.REPLACE.value
            return await self._uniform(there, update_preview.DELETE) if is_replaced else []
        is_new = preview.item.action in _NEW or there is None
        name = preview.item.name
        inner = PreviewStack(f"{stack.stack_name}-{name}", None, name) if is_new or there is None else there
        try:
            # A stack that is new has nothing to keep: no property counts as changed.
            changed = {} if preview.item.action == decide.Verdict.CREATE.value else preview.item.changes
            child = await self._resource(preview, inner.stack_id).foreseen(changed)
            nodes = await self._inner(input_, preview, child, inner, depth)
        except Exception:  # noqa: BLE001 - stand-ins do not fit everywhere: the children are known only when applied
            return None
        gone = await self._uniform(there, update_preview.DELETE) if is_new else []
        hidden = [goal.values_for(name)[secret] for secret in preview.secrets]

        def masked() -> list[PreviewNode]:
            secrets = Redactor(hidden)
            return [_masked_node(one, secrets) for one in nodes]

        shown = await self._access.planning.compute(off_loop.weight(hidden) + input_.size, masked) if hidden else nodes
        return [*shown, *gone]

    async def _inner(
        self, input_: desired.StackInput, preview: ResourcePreview, child: contract.Child, stack: PreviewStack, depth: int
    ) -> list[PreviewNode]:
        if depth >= self._deepest:
            return []
        around = masking.OuterResource(preview.item.name, preview.item.type, {"metadata": preview.metadata})
        identity = desired.Identity(stack.stack_name, stack.stack_id or "None", self._access.project)

        def desire() -> tuple[desired.StackInput, desired.Desired]:
            secrets = masking.redactor(input_)
            inner = masking.inner(input_, around, child, self._types, secrets)
            return inner, desired.desire(inner, identity, self._types, validate=False)

        inner, goal = await self._access.planning.compute(input_.size + len(child.template), desire)
        return await self.tree(inner, goal, stack, depth=depth + 1)

    def _resource(self, preview: ResourcePreview, stack_id: str | None) -> nested_stack.StackResource:
        row = (preview.row or {}) if stack_id is not None else {}
        state = contract.ResourceState(
            name=preview.item.name, stack_name="", stack_id="", token=row.get("token") or "", properties=preview.after,
            physical_id=stack_id, data=documents.decode(row.get("data") or "{}", dict[str, Any]), exports=preview.exports,
        )
        assert preview.implementation is not None
        made = preview.implementation(state, contexts.inner(self._access.clock, self._access.project, self._inside))
        assert isinstance(made, nested_stack.StackResource)
        return made

    async def _uniform(self, stack: PreviewStack | None, action: str) -> list[PreviewNode]:
        """Return the previews of all resources of a stack, to which the same happens: nothing, or deletion."""
        found: list[PreviewNode] = []
        present = await self._present(stack.stack_id) if stack else []
        now = _required_now(present)
        for row in present:
            if row["superseded"] or row["kind"] is NodeKind.BARRIER:
                continue
            item = (
                update_preview.deletion(row, "")
                if action == update_preview.DELETE
                else PreviewItem(row["name"], row["type"] or "", action)
            )
            assert stack is not None
            children = await self._uniform(await self._stack_of(row), item.action)
            preview = update_preview.with_protection(ResourcePreview(item, row), None)
            found.append(PreviewNode(preview, stack, children, required_now=now.get(item.name, ())))
        return found

    async def _present(self, stack_id: str | None) -> Sequence[Mapping[str, Any]]:
        if stack_id is None:
            return []
        return await self._access.store.read(lambda connection: lookups.resources(connection, stack_id))

    async def _names(self, stack_id: str | None, moves: Moves) -> dict[str, str]:
        """Return the moves to carry out, old name to new name. A stack that is to be created has nothing to move."""
        if stack_id is None:
            return {}
        return await self._access.store.read(lambda connection: move.due(connection, stack_id, moves))

    async def _stack_of(self, row: Mapping[str, Any] | None) -> PreviewStack | None:
        """Return the nested stack of a resource, if it exists."""
        if row is None or row["physical_id"] is None or not self._is_stack(row["implementation"] or ""):
            return None
        id_, project = row["physical_id"], self._access.project
        found = await self._access.store.read(lambda connection: lookups.stack(connection, project, id_))
        return None if found is None or found["tomb"] else PreviewStack(found["name"], found["id"], row["name"])

    def _is_stack(self, implementation: str) -> bool:
        if nested_stack.is_template(implementation):
            return True
        type_ = self._types.types.get(implementation)
        return type_ is not None and issubclass(type_, nested_stack.StackResource)


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """The effect on one resource, and the resources that contain its nested stack, outermost first."""

    item: PreviewItem
    around: tuple[str, ...] = ()


def planned(nodes: Iterable[PreviewNode], around: tuple[str, ...] = ()) -> Iterator[PlannedItem]:
    """Yield the effects on a stack and its nested stacks, in the order of the template."""
    for one in nodes:
        item = one.preview.item
        yield PlannedItem(replace(item, certain=item.certain and not one.children_unknown), around)
        yield from planned(one.children, (*around, item.name))


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


def _masked_node(node: PreviewNode, secrets: Redactor) -> PreviewNode:
    """Return the node and its children with the secrets of the outer stack masked."""
    # The value before may be a secret too.
    changes = {key: PropertyChange(MASK, MASK) if secrets.has_secret([one.before, one.after]) else one
               for key, one in node.preview.item.changes.items()}
    hidden = {key for key, value in node.preview.after.items() if secrets.has_secret(value)}
    preview = replace(node.preview, item=replace(node.preview.item, changes=changes), hidden=node.preview.hidden | hidden)
    return replace(node, preview=preview, children=[_masked_node(one, secrets) for one in node.children])
