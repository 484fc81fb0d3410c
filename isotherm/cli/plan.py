"""`isotherm plan`: what a template would make, in which order, and why in that order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import inputs, options, reasons, show
from isotherm.graph import dot
from isotherm.graph.graph import DependencyTaskGraph


@click.command(epilog=options.example("isotherm plan examples/site.yaml -e examples/production.env.yaml",
                                      "isotherm plan examples/site.yaml --dot | dot -Tsvg > site.svg"))
@options.template_argument
@options.environment_options
@click.option("--dot", "as_dot", is_flag=True, help="Answer with a drawing for Graphviz.")
@options.json_option
@click.pass_obj
def plan(terminal: show.Terminal, template: str, environments: tuple[str, ...], parameters: dict[str, str],
         as_dot: bool) -> None:
    """Show what a template would make, in which order and why.

    TEMPLATE is a file, or - for stdin. Resources of one step can be made at the same time; each waits for what it
    names in `depends_on`, and for what its properties refer to.
    """
    name = "stdin" if template == inputs.STDIN else Path(template).stem
    checked = inputs.check(inputs.read(terminal, template, environments, parameters), stack_name=name)
    graph = DependencyTaskGraph({name: definition.requires for name, definition in checked.bound.definitions.items()})
    summary = summarise(checked, graph)
    if as_dot:
        terminal.plain(_drawing(name, summary, graph))
    else:
        terminal.answer(summary, lambda: _draw(template, summary))


def summarise(checked: inputs.Checked, graph: DependencyTaskGraph[str]) -> dict[str, Any]:
    """The plan as data: the levels, and each resource in the order of the levels with its reasons to wait."""
    definitions = checked.bound.definitions
    levels = graph.levels()
    resources = [{"name": name, "type": definitions[name].type, "level": number,
                  "requires": [{"resource": need, "because": because}
                               for need, because in reasons.of(definitions[name], graph.requires(name)).items()]}
                 for number, level in enumerate(levels, 1) for name in level]
    return {"levels": levels, "resources": resources, "outputs": list(checked.bound.outputs)}


def _draw(file: str, summary: dict[str, Any]) -> Iterator[RenderableType]:
    made = show.count(len(summary["resources"]), "resource")
    steps = show.count(len(summary["levels"]), "step")
    yield Text.assemble((show.clean(file), "bold"), f": {made} in {steps}")
    yield Text("")
    if summary["resources"]:
        yield show.table(["step", "resource", "type", "waits for", "because of"], _rows(summary["resources"]),
                         styles=["bold", "cyan", "dim", "cyan"], keep=4)


def _rows(resources: list[dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    """A line for each reason; what a line shares with the one above it is left out."""
    level = 0
    for resource in resources:
        head: tuple[object, ...] = (str(resource["level"]) if resource["level"] != level else "", resource["name"],
                                    resource["type"])
        level = resource["level"]
        for need in resource["requires"] or [{"resource": "", "because": [""]}]:
            name = need["resource"]
            for because in need["because"]:
                yield (*head, name, because)
                head, name = ("", "", ""), ""


def _drawing(name: str, summary: dict[str, Any], graph: DependencyTaskGraph[str]) -> str:
    types = {resource["name"]: resource["type"] for resource in summary["resources"]}
    why = {(need["resource"], resource["name"]): "\n".join(need["because"])
           for resource in summary["resources"] for need in resource["requires"]}
    return dot.dot(graph, name=name, label=lambda node: f"{node}\n{types[node]}",
                   why=lambda need, node: why[need, node])
