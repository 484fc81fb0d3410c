"""`isotherm graph`: the resources of a stack with dependencies and states, as a tree or for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import engines, home, port
from isotherm.cli.show import console, tree, words
from isotherm.graph import dot
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.states import NodeState


@click.command(epilog=options.example("isotherm graph web", "isotherm graph web --nested 2",
                                      "isotherm graph web --dot | dot -Tsvg > web.svg"))
@click.argument("name")
@click.option("--dot", "as_dot", is_flag=True, help="Print the graph in Graphviz's dot language.")
@options.nested_option
@options.json_option
@click.pass_obj
def graph(printer: console.Printer, name: str, as_dot: bool) -> None:
    """Draw the resources of a stack with their dependencies and states.

    With --nested, the resources of a nested stack are below the resource that contains it.
    """
    resources = engines.read(lambda reader: _read(reader, name))
    # A superseded version has the name of its successor and is not in the graph.
    nodes = {_key(r["stack"], r["resource_name"]): r for r in reversed(resources) if not r["to_be_deleted"]}
    nodes = dict(reversed(nodes.items()))
    requires = {key: [need for need in (_key(r["stack"], need) for need in r["requires"]) if need in nodes]
                for key, r in nodes.items()}
    below = {key: needs or _container(nodes[key]["stack"], nodes) for key, needs in requires.items()}
    if as_dot:
        drawn = DependencyTaskGraph(below)
        printer.plain(dot.dot(drawn, name=name, label=lambda node: f"{node}\n{nodes[node]['resource_status']}"))
    else:
        printer.result(list(nodes.values()), lambda: _draw(nodes, below))


async def _read(reader: port.ReaderPort, name: str) -> list[dict[str, Any]]:
    return await reader.resources.list(name, depth=home.nested())


def _key(stack: Sequence[str], name: str) -> str:
    return ".".join((*stack, name))


def _container(stack: Sequence[str], nodes: Mapping[str, object]) -> list[str]:
    """Return the resource that contains a nested stack, in whose place the stack's first resources are drawn."""
    key = ".".join(stack)
    return [key] if key in nodes else []


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
