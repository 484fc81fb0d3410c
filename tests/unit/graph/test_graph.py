"""DependencyTaskGraph and the plans of a traversal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isotherm import errors
from isotherm.graph import plan
from isotherm.graph.graph import DependencyTaskGraph


@st.composite
def graphs(draw: Any) -> Any:
    """Any acyclic graph: each node requires some of those before it."""
    size = draw(st.integers(0, 12))
    return {f"n{i}": [f"n{j}" for j in range(i) if draw(st.booleans())] for i in range(size)}


@pytest.mark.ledger("S2.21")
@given(graphs())
def test_order_puts_requirements_first_and_is_complete(requires: Any) -> None:
    graph = DependencyTaskGraph(requires)
    order = graph.order()
    assert sorted(order) == sorted(requires)
    place = {node: index for index, node in enumerate(order)}
    assert all(place[need] < place[node] for node, needs in requires.items() for need in needs)


@given(graphs())
def test_both_directions_are_the_same_edges(requires: Any) -> None:
    graph = DependencyTaskGraph(requires)
    assert {(need, node) for node in graph for need in graph.requires(node)} == set(graph.edges())
    assert {(node, dependant) for node in graph for dependant in graph.required_by(node)} == set(graph.edges())


@given(graphs(), st.data())
def test_a_cycle_is_found_and_told(requires: Any, data: Any) -> None:
    graph = DependencyTaskGraph(requires)
    assert graph.cycle() == []
    chained = [(need, node) for need, node in graph.edges()]
    if not chained:
        return
    need, node = data.draw(st.sampled_from(chained))
    broken = DependencyTaskGraph({**requires, need: [*requires[need], node]})
    cycle = broken.cycle()
    assert cycle
    assert all(following in broken.requires(one) for one, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    with pytest.raises(errors.UserError) as refused:
        broken.levels()
    assert refused.value.kind == "CircularDependencyException"


def test_a_requirement_that_is_no_node_is_left_out() -> None:
    graph = DependencyTaskGraph({"a": ["nowhere"]})
    assert graph.levels() == [["a"]]
    assert len(graph) == 1
    assert "nowhere" not in graph


@given(graphs(), st.data())
def test_an_update_visits_what_changed_and_what_depends_on_it_and_nothing_else(requires: Any, data: Any) -> Any:
    graph = DependencyTaskGraph(requires)
    changed = data.draw(st.sets(st.sampled_from(sorted(requires)))) if requires else set()
    visits = plan.update(graph, changed)

    def depends(node: Any) -> Any:
        return node in changed or any(depends(need) for need in requires[node])

    assert set(visits.pending) == {node for node in requires if depends(node)}
    assert all(count == sum(need in visits.pending for need in requires[node]) for node, count in visits.pending.items())


def test_no_change_no_visit() -> None:
    assert len(plan.update(DependencyTaskGraph({"a": [], "b": ["a"]}), [])) == 0


def test_clean_up_goes_dependants_first() -> None:
    unwanted = [plan.Version(1, "a"), plan.Version(2, "b", [1]), plan.Version(3, "c", [2, 99])]
    assert plan.clean_up(unwanted) == {1: (2,), 2: (3,), 3: ()}


@given(graphs())
def test_clean_up_is_the_order_of_making_turned_round(requires: Any) -> None:
    number = {name: index for index, name in enumerate(requires)}
    unwanted = [plan.Version(number[name], name, [number[need] for need in needs]) for name, needs in requires.items()]
    waits = plan.clean_up(unwanted)
    assert {(w, v) for v, ws in waits.items() for w in ws} == {
        (number[name], number[need]) for name, needs in requires.items() for need in needs}
