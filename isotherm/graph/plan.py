"""The plan of one traversal: the nodes to visit, and the order between them. Pure: names and ids.

Every operation on a stack has two plans:

- `update`: the changed resources and all their dependants. No other node is in it, so that the cost of an update is
  proportional to its changes.
- `clean_up`: superseded versions, dependants first. Where the rollback policy says so (ledger S2.17, S2.18), those without
  users are deleted first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import NodeKind


@dataclass(frozen=True, slots=True)
class Visits:
    """Nodes to visit, each with the number of visited nodes that it waits for."""

    pending: Mapping[str, int]
    changed: frozenset[str]

    def __len__(self) -> int:
        return len(self.pending)


def update(graph: DependencyTaskGraph[str], changed: Iterable[str]) -> Visits:
    """Plan the visits of the changed nodes and their dependants, requirements first."""
    directly = frozenset(changed)
    visited = graph.closure(directly)
    pending = {name: sum(need in visited for need in graph.requires(name)) for name in graph if name in visited}
    return Visits(pending, directly)


def passes(kind: NodeKind, pending: int, *, outdated: bool) -> bool:
    """Return whether a node ends without a step: it waits for nothing any more, and has nothing to do.

    A barrier never has anything to do, and the node of an update only if something that concerns it has changed.
    """
    return not pending and (kind == NodeKind.BARRIER or (kind == NodeKind.UPDATE and not outdated))


@dataclass(frozen=True, slots=True)
class Version:
    """A version that is to be deleted; `requires` are the versions that its object may use."""

    id: int
    name: str
    requires: Collection[int] = ()


def clean_up(unwanted: Iterable[Version]) -> dict[int, tuple[int, ...]]:
    """Plan the deletions, dependants first: return, by version, the versions that have to be deleted before it."""
    versions = {version.id: version for version in unwanted}
    waits_for: dict[int, list[int]] = {id_: [] for id_ in versions}
    for version in versions.values():
        for need in version.requires:
            if need in waits_for and need != version.id:
                waits_for[need].append(version.id)
    graph = DependencyTaskGraph[int](waits_for)
    # Versions require only versions that were complete before them, so there is no cycle (I9). Should that ever be
    # wrong, raise here: otherwise the stack could never be deleted.
    graph.levels()
    return {id_: graph.requires(id_) for id_ in graph}
