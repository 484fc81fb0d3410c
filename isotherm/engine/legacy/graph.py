"""The graph of one phase, in memory: which nodes are ready, and what the end of one means to its successors. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from isotherm.graph import plan
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import EdgeKind, NodeKind, NodeState
from isotherm.store.legacy_walk import NodeChanges, Phase


@dataclass(slots=True)
class _OpenNode:
    """A node that has not ended."""

    kind: NodeKind
    outdated: bool
    pending: int

    @property
    def passes(self) -> bool:
        """Return whether the node ends without a step."""
        return plan.passes(self.kind, self.pending, outdated=self.outdated)


@dataclass(slots=True)
class Consequences:
    """The consequences of the end of a node: nodes that are ready, nodes that end with it, nodes that became outdated."""

    ready: list[int] = field(default_factory=list)
    ended: dict[int, NodeState] = field(default_factory=dict)
    outdated: set[int] = field(default_factory=set)

    @property
    def changes(self) -> NodeChanges:
        return NodeChanges(self.ended, sorted(self.outdated))


class PhaseGraph:
    """The nodes of a phase that have not ended, from `start` to the `end` of the last one."""

    def __init__(self, phase: Phase) -> None:
        requires: dict[int, dict[int, None]] = {node.id: {} for node in phase.nodes}
        hard: set[tuple[int, int]] = set()
        for edge in phase.edges:
            requires[edge.dst][edge.src] = None
            if edge.kind is not EdgeKind.SOFT:
                hard.add((edge.src, edge.dst))
        self._graph = DependencyTaskGraph[int](requires)
        self._hard = hard
        self._open = {
            node.id: _OpenNode(node.kind, node.outdated, len(requires[node.id])) for node in phase.nodes
        }

    @property
    def is_over(self) -> bool:
        return not self._open

    def start(self) -> Consequences:
        step = Consequences()
        for node_id in [id_ for id_, place in self._open.items() if not place.pending]:
            self._arrive(node_id, step)
        return step

    def end(self, node_id: int, state: NodeState, *, changed: bool = False) -> Consequences:
        """End a node as DONE, FAILED or SKIPPED. FAILED and SKIPPED mean the same to its successors."""
        step = Consequences()
        self._end(node_id, state, step, changed=changed)
        return step

    def _end(self, node_id: int, state: NodeState, step: Consequences, *, changed: bool = False) -> None:
        """Follow the consequences to their end. Without recursion, because a chain may be long."""
        todo = [(node_id, state, changed)]
        while todo:
            ended, how, news = todo.pop()
            if self._open.pop(ended, None) is None:
                continue
            for follower in self._graph.required_by(ended):
                place = self._open.get(follower)
                if place is None:
                    continue
                place.pending -= 1
                if news:
                    place.outdated = True
                    step.outdated.add(follower)
                if how is not NodeState.DONE and (ended, follower) in self._hard:
                    step.ended[follower] = NodeState.SKIPPED
                    todo.append((follower, NodeState.SKIPPED, False))
                elif place.passes:
                    step.ended[follower] = NodeState.DONE
                    todo.append((follower, NodeState.DONE, False))
                elif not place.pending:
                    step.ready.append(follower)

    def _arrive(self, node_id: int, step: Consequences) -> None:
        place = self._open.get(node_id)
        if place is not None and place.passes:
            step.ended[node_id] = NodeState.DONE
            self._end(node_id, NodeState.DONE, step)
        elif place is not None:
            step.ready.append(node_id)
