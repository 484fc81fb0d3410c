"""Groups the nodes of a graph into boxes, so that a graph of any size can be looked at.

A group has the nodes of one depth, one type and one name but for its numbers. The depth in the key keeps groups free of
cycles. Where that leaves too many boxes, names and then depths are left out of the key.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NONE, KIND, DEPTH_TYPE, TYPE = "none", "kind", "depth_type", "type"
LEVELS = (NONE, KIND, DEPTH_TYPE, TYPE)
_NUMBERS = re.compile(r"[0-9]+")
# Groupings of one structure that are remembered.
_KEPT = 4


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One node: a resource, or a barrier that is passed through and not shown."""

    id: int
    name: str
    type: str
    is_barrier: bool = False
    unwanted: bool = False
    child: tuple[str, str] | None = None
    resource_id: int | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """The graph of a stack without states: nodes by id, edges, and the depth of each node."""

    nodes: Mapping[int, GraphNode]
    # Source, target, kind; all edges into a node come before those out of it.
    edges: Sequence[tuple[int, int, int]]
    depths: Mapping[int, int]
    # Resources by name, in order.
    ordered: Sequence[int]
    # By level: the group of each resource. By request: the last groupings, with the edges between their boxes.
    groups: dict[str, dict[int, str]] = field(default_factory=dict)
    grouped: dict[Any, tuple[Grouped, Counter[tuple[str, str, int]]]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return len(self.ordered)


def structure(nodes: Sequence[GraphNode], edges: Sequence[tuple[int, int, int]]) -> Structure:
    known = {node.id: node for node in nodes}
    inside = [edge for edge in edges if edge[0] in known and edge[1] in known]
    depths = _depths(known, inside)
    # A barrier has the depth of what follows it, and comes first.
    inside.sort(key=lambda edge: (depths[edge[0]], not known[edge[0]].is_barrier, edge[0]))
    return Structure(known, inside, depths, [node.id for node in nodes if not node.is_barrier])


def _depths(nodes: Mapping[int, GraphNode], edges: Sequence[tuple[int, int, int]]) -> dict[int, int]:
    """Return the length of the longest path to each node; barriers count nothing. Nodes on a cycle keep what they have."""
    following: dict[int, list[int]] = {}
    waiting: Counter[int] = Counter()
    for src, dst, _ in edges:
        following.setdefault(src, []).append(dst)
        waiting[dst] += 1
    depths = dict.fromkeys(nodes, 0)
    level = [id_ for id_ in nodes if not waiting[id_]]
    while level:
        upcoming = []
        for src in level:
            below = depths[src] + (0 if nodes[src].is_barrier else 1)
            for dst in following.get(src, ()):
                depths[dst] = max(depths[dst], below)
                waiting[dst] -= 1
                if not waiting[dst]:
                    upcoming.append(dst)
        level = upcoming
    return depths


def pattern(name: str) -> str:
    """Return a name with its numbers replaced."""
    return _NUMBERS.sub("#", name)


@dataclass(slots=True)
class Box:
    """One box of the picture: a resource, or a group of them."""

    id: str
    name: str
    type: str
    depth: int
    members: list[int] = field(default_factory=list)
    single: GraphNode | None = None


@dataclass(frozen=True, slots=True)
class Grouped:
    """The boxes of a structure, the box of each node, and the level of grouping."""

    level: str
    boxes: Mapping[str, Box]
    box_of: Mapping[int, str]


def picture(
    found: Structure, level: str, singles: Collection[int] = (), opened: Collection[str] = ()
) -> tuple[Grouped, Counter[tuple[str, str, int]]]:
    """Return the boxes and the edges between them, from memory if they were asked for before."""
    key = (level, tuple(singles), frozenset(opened))
    known = found.grouped.get(key)
    if known is None:
        grouped = group(found, level, singles, opened)
        while len(found.grouped) >= _KEPT:
            found.grouped.pop(next(iter(found.grouped)))
        known = found.grouped[key] = (grouped, edges(found, grouped))
    return known


def group(found: Structure, level: str, singles: Collection[int] = (), opened: Collection[str] = ()) -> Grouped:
    """Group by a level. `singles` and the members of `opened` groups are boxes of their own."""
    keys = {} if level == NONE else groups(found, level)
    boxes: dict[str, Box] = {}
    box_of: dict[int, str] = {}
    alone = set(singles)
    for id_ in found.ordered:
        node, depth = found.nodes[id_], found.depths[id_]
        key = keys.get(id_, "")
        if level == NONE or id_ in alone or key in opened:
            key = f"n{id_}"
            boxes[key] = Box(key, node.name, node.type, depth, [id_], node)
        else:
            box = boxes.get(key)
            if box is None:
                box = boxes[key] = Box(key, "" if level in (TYPE, DEPTH_TYPE) else pattern(node.name), node.type, depth)
            box.members.append(id_)
            box.depth = min(box.depth, depth)
        box_of[id_] = key
    return Grouped(level, boxes, box_of)


def groups(found: Structure, level: str) -> dict[int, str]:
    """Return the id of the group of each resource: it says the same in every answer about the same graph."""
    known = found.groups.get(level)
    if known is None:
        ids: dict[tuple[str, ...], str] = {}
        known = found.groups[level] = {}
        for id_ in found.ordered:
            key = _key(found.nodes[id_], found.depths[id_], level)
            known[id_] = ids.get(key) or ids.setdefault(key, _hash(level, key))
    return known


def _key(node: GraphNode, depth: int, level: str) -> tuple[str, ...]:
    if level == KIND:
        return (str(depth), node.type, pattern(node.name), str(node.unwanted))
    return (str(depth), node.type) if level == DEPTH_TYPE else (node.type,)


def _hash(level: str, key: tuple[str, ...]) -> str:
    return "g" + hashlib.sha256("\0".join((level, *key)).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def finest(found: Structure, limit: int) -> str:
    """Return the finest level with at most `limit` boxes; the coarsest if none has."""
    if found.total <= limit:
        return NONE
    for level in (KIND, DEPTH_TYPE):
        if len(set(groups(found, level).values())) <= limit:
            return level
    return TYPE


def edges(found: Structure, grouped: Grouped) -> Counter[tuple[str, str, int]]:
    """Count the edges between boxes by kind. A barrier joins all that leads to it with all that leads from it."""
    between: Counter[tuple[str, str, int]] = Counter()
    into: dict[int, set[str]] = {}
    out: dict[int, set[tuple[str, int]]] = {}
    chained: list[tuple[int, int]] = []
    for src, dst, kind in found.edges:
        a, b = grouped.box_of.get(src), grouped.box_of.get(dst)
        if a is not None and b is not None:
            if a != b:
                between[(a, b, kind)] += 1
        elif a is not None:
            into.setdefault(dst, set()).add(a)
        elif b is not None:
            out.setdefault(src, set()).add((b, kind))
        else:
            chained.append((src, dst))
    _pass_on(into, chained)
    for barrier, targets in out.items():
        for a in into.get(barrier, ()):
            for b, kind in targets:
                if a != b:
                    between[(a, b, kind)] += 1
    return between


def _pass_on(into: dict[int, set[str]], chained: Iterable[tuple[int, int]]) -> None:
    """Add what leads to a barrier to the barriers behind it."""
    pairs = list(chained)
    changed = bool(pairs)
    while changed:
        changed = False
        for src, dst in pairs:
            more = into.get(src, set()) - into.get(dst, set())
            if more:
                into.setdefault(dst, set()).update(more)
                changed = True


def digest(grouped: Grouped, between: Iterable[tuple[str, str, int]]) -> str:
    """Return a digest of the boxes and the edges between them, without states."""
    text = "\n".join([grouped.level, *sorted(grouped.boxes), *sorted(f"{a} {b} {kind}" for a, b, kind in between)])
    return hashlib.sha256(text.encode()).hexdigest()[:24]
