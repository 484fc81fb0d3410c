"""The plan of one traversal: which nodes are visited, and who waits for whom. Pure: names and ids in, names and ids out.

Three plans make up every operation on a stack:

- `update`: what the new template changes, and everything that depends on it. What is neither is not mentioned, so that
  an update costs what it changes.
- `clean_up`: versions of resources that nobody wants any more, dependants first.
- `gate`: where the rollback policy says so (ledger S2.17, S2.18), what is no longer wanted goes first, and the updates
  wait for it at a barrier, as far as nothing has to be moved out of the way before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class CleanUp:
    """Versions to delete: `waits_for[version]` are the versions that have to be gone before it."""

    waits_for: Mapping[int, tuple[int, ...]]
    # By version: the names whose update has to be through before it may go (they still use it).
    after_update: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    # Versions that wait for no update, not even through others: what can be deleted first.
    first: frozenset[int] = frozenset()


def clean_up(doomed: Iterable[Version], living: Iterable[Version] = ()) -> CleanUp:
    """Delete the doomed, dependants first; one that a living version still uses waits for the update of that."""
    versions = {version.id: version for version in doomed}
    waits_for: dict[int, list[int]] = {id_: [] for id_ in versions}
    for version in versions.values():
        for need in version.requires:
            if need in waits_for and need != version.id:
                waits_for[need].append(version.id)
    after_update: dict[int, list[str]] = {}
    for user in living:
        for need in user.requires:
            if need in versions:
                after_update.setdefault(need, []).append(user.name)
    graph = DependencyTaskGraph[int](waits_for)
    held = graph.closure(after_update)
    return CleanUp(
        {id_: graph.requires(id_) for id_ in _acyclic(graph)},
        {id_: tuple(names) for id_, names in after_update.items()},
        frozenset(id_ for id_ in versions if id_ not in held),
    )


def _acyclic(graph: DependencyTaskGraph[int]) -> Iterable[int]:
    # Versions are linked only to what was complete before them, so there is no cycle; a stack that could not be
    # deleted because of one would be the worst answer to that being wrong, hence the check is here and loud.
    graph.levels()
    return graph
