"""`isotherm graph`: the resources of a stack with dependencies and states, as a tree or for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console, tree, words
from isotherm.engine.process.home import Folder
from isotherm.graph import dot
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import NodeState


@click.command(epilog=options.example("isotherm graph web", "isotherm graph web --dot | dot -Tsvg > web.svg"))
@click.argument("name")
@click.option("--dot", "as_dot", is_flag=True, help="Print the graph in Graphviz's dot language.")
@options.json_option
@click.pass_obj
def graph(printer: console.Printer, name: str, as_dot: bool) -> None:
    """Draw the resources of a stack with their dependencies and states."""
    resources, edges = home.use(Folder, lambda folder: _read(folder, name))
    # A superseded version has the name of its successor and is not in the graph.
    nodes = {r["resource_name"]: r for r in reversed(resources) if not r["to_be_deleted"]}
    nodes = dict(reversed(nodes.items()))
    requires: dict[str, list[str]] = {node: [] for node in nodes}
    for need, node in edges:
        if node in requires and need in requires:
            requires[node].append(need)
    if as_dot:
        drawn = DependencyTaskGraph(requires)
        printer.plain(dot.dot(drawn, name=name, label=lambda node: f"{node}\n{nodes[node]['resource_status']}"))
    else:
        data = [{**node, "requires": requires[one]} for one, node in nodes.items()]
        printer.result(data, lambda: _draw(nodes, requires))


async def _read(folder: Folder, name: str) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    return await folder.resources.list(name), await folder.resources.edges(name)


def _draw(nodes: Mapping[str, Mapping[str, Any]], requires: Mapping[str, Sequence[str]]) -> Iterator[RenderableType]:
    rows = []
    above: dict[int, str] = {}
    for prefix, name in tree.arrange(requires):
        parent = above.get(len(prefix) - 3)
        above[len(prefix)] = name
        rows.append(_row(prefix, nodes[name], [need for need in requires[name] if need != parent]))
    yield console.table(["resource", "status", "also needs", "type"], rows, styles=["", "", "dim", "dim"], keep=2)


def _row(prefix: str, node: Mapping[str, Any], needs: Sequence[str]) -> tuple[Text, ...]:
    sign, style = words.SIGNS[NodeState[node["state"]]]
    name = Text.assemble((prefix, "dim"), (f"{sign} ", style), (console.clean(node["resource_name"]), "cyan"))
    also = words.some(list(needs), len(needs)) if needs else ""
    return name, words.status(node["resource_status"]), console.text(also), console.text(node["resource_type"])
