"""Arranges a graph as a tree: each node once, below the deepest node it requires.

The caller shows the other edges as text. Indentation stops at a depth, so that a chain of a hundred nodes stays readable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

DEEPEST = 8


def arrange(requires: Mapping[Key, Sequence[Key]], *, deepest: int = DEEPEST) -> Iterator[tuple[str, Key]]:
    """Yield each node with its prefix of tree lines. Requirements that are not in the map are ignored."""
    below = _children(requires)
    stack = [("", "", node) for node in reversed(below.pop(None, []))]
    while stack:
        prefix, lead, node = stack.pop()
        yield prefix, node
        children = below.get(node, [])
        deep = len(lead) >= 3 * (deepest - 1)
        for index, child in reversed(list(enumerate(children))):
            last = index == len(children) - 1
            # Below the deepest level an arrow replaces further indentation.
            mark, more = ("↳  ", "") if deep else ("└─ ", "   ") if last else ("├─ ", "│  ")
            stack.append((lead + mark, lead + more, child))


def _children(requires: Mapping[Key, Sequence[Key]]) -> dict[Key | None, list[Key]]:
    depth = _depths(requires)
    below: dict[Key | None, list[Key]] = {}
    for node, needs in requires.items():
        known = [need for need in needs if need in requires and depth[need] < depth[node]]
        parent = max(known, key=lambda need: depth[need]) if known else None
        below.setdefault(parent, []).append(node)
    return below


def _depths(requires: Mapping[Key, Sequence[Key]]) -> dict[Key, int]:
    """Return the length of the longest path to each node. A plan has no cycle; one would be cut at some edge."""
    depth: dict[Key, int] = {}
    for start in requires:
        todo = [start]
        open_: set[Key] = set()
        while todo:
            node = todo[-1]
            needs = [need for need in requires[node] if need in requires]
            missing = [need for need in needs if need not in depth and need not in open_]
            if node in depth or (node in open_ and not missing) or not missing:
                depth.setdefault(node, 1 + max((depth.get(need, -1) for need in needs), default=-1))
                todo.pop()
            else:
                open_.add(node)
                todo.extend(missing)
    return depth
