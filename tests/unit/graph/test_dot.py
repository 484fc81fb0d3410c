"""DOT output that Graphviz can read, for all names."""

from __future__ import annotations

from isotherm.graph import dot
from isotherm.graph.graph import DependencyTaskGraph


def test_arrows_lead_from_requirements_to_dependants() -> None:
    drawn = dot.dot(DependencyTaskGraph({"web": ["db"], "db": []}), label=str.upper, why=lambda need, node: "url")
    assert '  "web" [label="WEB"];' in drawn
    assert '  "db" -> "web" [label="url"];' in drawn


def test_names_cannot_break_out_of_their_quotes() -> None:
    drawn = dot.dot(DependencyTaskGraph({'a"];\\ evil\n': []}))
    assert r'"a\"];\\ evil\n" [label="a\"];\\ evil\n"];' in drawn
