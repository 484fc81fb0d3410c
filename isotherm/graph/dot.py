"""Writes a DependencyTaskGraph in the language of Graphviz.

An arrow leads from a requirement to its dependant: the order of creation.
"""

from __future__ import annotations

from collections.abc import Callable

from isotherm.graph.graph import DependencyTaskGraph


def dot(graph: DependencyTaskGraph[str], *, name: str = "plan", label: Callable[[str], str] = str,
        why: Callable[[str, str], str] | None = None) -> str:
    """Return the graph as DOT. `label` returns the text of a node, `why` that of an arrow (requirement, dependant)."""
    lines = [f"digraph {_quoted(name)} {{", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    lines += [f"  {_quoted(node)} [label={_quoted(label(node))}];" for node in graph]
    for need, node in graph.edges():
        reason = f" [label={_quoted(why(need, node))}]" if why else ""
        lines.append(f"  {_quoted(need)} -> {_quoted(node)}{reason};")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
