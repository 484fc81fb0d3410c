"""The plan of one traversal: which nodes are visited, and who waits for whom. Pure: names and ids in, names and ids out.

Two plans make up every operation on a stack:

- `update`: what the new template changes, and everything that depends on it. What is neither is not mentioned, so that
  an update costs what it changes.
- `clean_up`: versions of resources that nobody wants any more, dependants first.
  Where the rollback policy says so (ledger S2.17, S2.18), those that nobody uses go first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from isotherm.graph.graph import DependencyTaskGraph


@dataclass(frozen=True, slots=True)
class Visits:
    """Nodes to visit, each with the number of visited nodes that it waits for."""

    pending: Mapping[str, int]
    changed: frozenset[str]

    def __len__(self) -> int:
        return len(self.pending)


def update(graph: DependencyTaskGraph[str], changed: Iterable[str]) -> Visits:
    """Visit what changed and whatever depends on it, requirements first."""
    directly = frozenset(changed)
    visited = graph.closure(directly)
    pending = {name: sum(need in visited for need in graph.requires(name)) for name in graph if name in visited}
    return Visits(pending, directly)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a resource, as far as its deletion goes: `requires` are the versions that its object may use."""

    id: int
    name: str
    requires: Collection[int] = ()


def clean_up(doomed: Iterable[Version]) -> dict[int, tuple[int, ...]]:
    """Delete the doomed, dependants first: by version, the versions that have to be gone before it."""
    versions = {version.id: version for version in doomed}
    waits_for: dict[int, list[int]] = {id_: [] for id_ in versions}
    for version in versions.values():
        for need in version.requires:
            if need in waits_for and need != version.id:
                waits_for[need].append(version.id)
    graph = DependencyTaskGraph[int](waits_for)
    # Versions are linked only to what was complete before them, so there is no cycle; a stack that could not be
    # deleted because of one would be the worst answer to that being wrong, hence the check is here and loud.
    graph.levels()
    return {id_: graph.requires(id_) for id_ in graph}
