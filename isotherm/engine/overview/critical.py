"""The critical path of an operation: what it waits for while it runs, and what made it take so long once it has ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

from isotherm.engine.overview.grouping import Structure

Key = TypeVar("Key", str, int)


def ahead(found: Structure, unended: Collection[int]) -> list[int]:
    """Return the longest chain of nodes that have not ended, requirements first, without barriers."""
    left = set(unended)
    before: dict[int, int] = {}
    length: dict[int, int] = {id_: 0 if found.nodes[id_].is_barrier else 1 for id_ in left}
    for src, dst, _ in found.edges:
        if src not in left or dst not in left:
            continue
        reached = length[src] + (0 if found.nodes[dst].is_barrier else 1)
        if reached > length[dst]:
            length[dst], before[dst] = reached, src
    if not length:
        return []
    at: int | None = max(sorted(length), key=lambda id_: length[id_])
    chain = []
    while at is not None:
        chain.append(at)
        at = before.get(at)
    return [id_ for id_ in reversed(chain) if not found.nodes[id_].is_barrier]


def back(
    ended: Mapping[Key, float], before: Callable[[Key], Iterable[Key]], most: int, start: Key | None = None
) -> list[Key]:
    """Return the path back from `start` or what ended last, always to the predecessor that ended last; that one last."""
    if not ended:
        return []
    last: Callable[[Key], tuple[float, Key]] = lambda key: (ended[key], key)  # noqa: E731 - a key, with its type
    at: Key | None = max(ended, key=last) if start is None else start
    chain: list[Key] = []
    seen: set[Key] = set()
    while at is not None and at not in seen and len(chain) < most:
        chain.append(at)
        seen.add(at)
        known = [one for one in before(at) if one in ended and one not in seen]
        at = max(known, key=last) if known else None
    return chain[::-1]
