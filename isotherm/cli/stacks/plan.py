"""`isotherm plan`: the resources of a template in order of creation; `changes` plans those of a stack."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm import loading
from isotherm.cli import codes, options
from isotherm.cli.client import inputs
from isotherm.cli.client.files import TEMPLATE_SUFFIXES
from isotherm.cli.show import console, reasons
from isotherm.graph import dot
from isotherm.graph.graph import DependencyTaskGraph
from isotherm.template.model import model


@click.command(epilog=options.example("isotherm plan examples/site.yaml -e examples/production.env.yaml",
                                      "isotherm plan examples/site.yaml --dot | dot -Tsvg > site.svg",
                                      "isotherm plan web -t examples/site.yaml -p servers=one,two --out web.plan",
                                      "isotherm plan web --refresh --detailed-exitcode"))
@click.argument("what", metavar="TEMPLATE|NAME")
@click.option("-t", "--template", "template", type=options.FILE, help="The template of the stack NAME.")
@options.environment_options
@options.move_option
@options.choice_options
@options.fresh_option
@click.option("--refresh", is_flag=True, help="Observe reality first. Only with NAME.")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE",
              help="Save the plan; `isotherm apply FILE` applies exactly it. Only with NAME.")
@click.option("--detailed-exitcode", "detailed", is_flag=True,
              help=f"Exit with {codes.CHANGES} if the plan changes something. Only with NAME.")
@click.option("--dot", "as_dot", is_flag=True, help="Print the graph in Graphviz's dot language. Only with TEMPLATE.")
@options.cloud_option
@options.json_option
@click.pass_obj
def plan(  # noqa: PLR0913 - one for each option
         printer: console.Printer, what: str, template: str | None, environments: tuple[str, ...],
         parameters: dict[str, str], moved: dict[str, str], target: tuple[str, ...], exclude: tuple[str, ...], fresh: bool,
         refresh: bool, out: str | None, detailed: bool, as_dot: bool) -> int:
    """Show what a template would create, or what an update would change.

    `isotherm plan TEMPLATE` shows the resources of a template file (- reads stdin), the step in which each is created, and
    the dependencies it waits for. Resources of one step are created in parallel.

    `isotherm plan NAME -t TEMPLATE` shows what `isotherm apply` would change, and why, with the drift that is known.
    Parameters and environment of the stack are kept unless given. If there is no stack NAME, it shows the properties of
    what would be created. `isotherm plan NAME` shows what the stack's own template would change now. Nothing is changed.
    """
    of_stack = template is not None or not _is_file(what)
    if of_stack and template is None and (given := [*environments, *parameters, *moved]):
        raise click.UsageError(f"{given[0]}: give the template too, with -t.")
    if of_stack and as_dot:
        raise click.UsageError("--dot draws a template only: leave out -t.")
    if of_stack:
        # Imported here: a plan of a file does not need the engine, which is slow to import.
        changes = loading.load("isotherm.cli.client.changes")
        read = None if template is None else inputs.read(printer, template, environments, parameters)
        code: int = changes.show(
            printer, what, read, changes.Showing(fresh, refresh, out, detailed, moved, target, exclude))
        return code
    if fresh or refresh or out or detailed or moved or target or exclude:
        raise click.UsageError(f"There is no stack in {what}: name one, and give the template with -t.")
    _plan(printer, what, inputs.read(printer, what, environments, parameters), as_dot)
    return codes.OK


def _is_file(what: str) -> bool:
    """Return whether `what` is a template, not a stack. Raises UsageError for a file that does not exist."""
    if what == inputs.STDIN or Path(what).exists() or "/" in what or what.endswith((*TEMPLATE_SUFFIXES, ".yml", ".json")):
        context = click.get_current_context()
        options.FILE.convert(what, context.command.params[0], context)
        return True
    return False


def _plan(printer: console.Printer, template: str, read: inputs.TemplateInputs, as_dot: bool) -> None:
    name = "stdin" if template == inputs.STDIN else Path(template).stem
    bound = inputs.check(read, stack_name=name)
    graph = DependencyTaskGraph({name: definition.requires for name, definition in bound.definitions.items()})
    steps = in_order(bound, graph)
    if as_dot:
        printer.plain(_drawing(name, steps, graph))
    else:
        printer.result(_as_data(steps, bound), lambda: _draw(template, steps))


@dataclass(frozen=True, slots=True)
class Step:
    """One resource of the plan. Resources of one level are created in parallel."""

    level: int
    name: str
    type: str
    waits_for: dict[str, list[reasons.Reason]]


def in_order(bound: model.Bound, graph: DependencyTaskGraph[str]) -> list[Step]:
    definitions = bound.definitions
    return [Step(number, name, definitions[name].type, reasons.of(definitions[name], graph.requires(name)))
            for number, level in enumerate(graph.levels(), 1) for name in level]


def _as_data(steps: list[Step], bound: model.Bound) -> dict[str, object]:
    resources = [{"name": step.name, "type": step.type, "level": step.level,
                  "requires": [{"resource": need, "because": [reason.as_data() for reason in because]}
                               for need, because in step.waits_for.items()]} for step in steps]
    levels = [[step.name for step in level] for _, level in itertools.groupby(steps, lambda step: step.level)]
    return {"levels": levels, "resources": resources, "outputs": list(bound.outputs)}


def _draw(file: str, steps: list[Step]) -> Iterator[RenderableType]:
    levels = steps[-1].level if steps else 0
    made = f"{console.count(len(steps), 'resource')} in {console.count(levels, 'step')}"
    yield Text.assemble((console.clean(file), "bold"), f": {made}")
    if steps:
        yield Text("")
        yield console.table(["step", "resource", "type", "waits for", "because of"], _rows(steps),
                         styles=["bold", "cyan", "dim", "cyan"], keep=4)


def _rows(steps: list[Step]) -> Iterator[tuple[object, ...]]:
    """Yield a row per reason. Cells that repeat the row above are empty."""
    level = 0
    for step in steps:
        head: tuple[str, ...] = (str(step.level) if step.level != level else "", step.name, step.type)
        level = step.level
        if not step.waits_for:
            yield (*head, "", "")
        for need, because in step.waits_for.items():
            for reason in because:
                yield (*head, need + reason.wanted, reason.place)
                head = ("", "", "")


def _drawing(name: str, steps: list[Step], graph: DependencyTaskGraph[str]) -> str:
    known = {step.name: step for step in steps}
    return dot.dot(graph, name=name, label=lambda node: f"{node}\n{known[node].type}",
                   why=lambda need, node: "\n".join(str(reason) for reason in known[node].waits_for[need]))
