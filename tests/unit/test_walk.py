"""The walk of the legacy path, whatever the graph: each node once, requirements first, and nothing after a failure."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from isotherm.engine.legacy.graph import PhaseGraph
from isotherm.states import Action, EdgeKind, NodeKind, NodeState
from isotherm.store.legacy_walk import Phase, PhaseNode
from isotherm.store.records import Edge, Operation

OPERATION = Operation("o", "s", "s", 1, Action.UPDATE, 2, "", True, None, "[]", 0, None, 0)


@st.composite
def phases(draw: st.DrawFn) -> Phase:
    count = draw(st.integers(1, 12))
    kinds = st.sampled_from([NodeKind.UPDATE, NodeKind.BARRIER, NodeKind.CLEANUP])
    nodes = [PhaseNode(id_, draw(kinds), draw(st.booleans()))
             for id_ in range(count)]
    pairs = draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30))
    edges = [Edge(src, dst, draw(st.sampled_from(EdgeKind))) for src, dst in pairs if src < dst]
    return Phase(OPERATION, nodes, edges)


@given(phases(), st.randoms(use_true_random=False))
def test_a_walk(phase: Phase, dice: Any) -> None:
    walk, ended = PhaseGraph(phase), dict[int, NodeState]()
    kinds, outdated = {node.id: node.kind for node in phase.nodes}, {node.id for node in phase.nodes if node.outdated}
    step, ready = walk.start(), list[int]()
    looked_at = set[int]()
    while True:
        assert not step.ended.keys() & ended.keys(), "each ends once"
        ended |= step.ended
        outdated |= step.outdated
        ready += step.ready
        if not ready:
            break
        node = ready.pop(dice.randrange(len(ready)))
        assert node not in looked_at, "each is looked at once"
        looked_at.add(node)
        before = [edge for edge in phase.edges if edge.dst == node]
        assert all(edge.src in ended for edge in before), "requirements first"
        assert all(ended[edge.src] is NodeState.DONE or edge.kind is EdgeKind.SOFT for edge in before)
        assert kinds[node] is NodeKind.CLEANUP or (kinds[node] is NodeKind.UPDATE and node in outdated)
        ended[node] = NodeState.FAILED if dice.random() < 0.3 else NodeState.DONE
        step = walk.end(node, ended[node], changed=dice.random() < 0.5)
    assert walk.is_over
    assert ended.keys() == kinds.keys()
    assert looked_at.isdisjoint(id_ for id_, state in ended.items() if state is NodeState.SKIPPED)
    for edge in phase.edges:
        if edge.kind is not EdgeKind.SOFT and ended[edge.src] in (NodeState.FAILED, NodeState.SKIPPED):
            assert ended[edge.dst] is NodeState.SKIPPED
