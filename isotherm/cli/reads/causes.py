"""`isotherm why`, `timeline`, `history` and `diff`: why a resource waits or failed, where time went, what a stack was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import codes, options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console, words
from isotherm.engine.queries import views
from isotherm.states import NodeState

# Columns of the bars of a timeline.
_WIDTH = 40
# Colours of the lines of a difference.
_LINE_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_STYLES = {"COMPLETE": "green", "FAILED": "red", "IN_PROGRESS": "blue", "WAITING": "cyan"}


@click.command(epilog=options.example("isotherm why web server", "isotherm why web server --json"))
@click.argument("name")
@click.argument("resource")
@options.json_option
@click.pass_obj
def why(printer: console.Printer, name: str, resource: str) -> None:
    """Explain why a resource waits, or why it failed.

    Shows the chain from the resource to the one that runs, failed or waits for you, also in nested stacks.
    """

    async def work(engine: port.EnginePort) -> dict[str, Any]:
        return await engine.orchestrator.causes.why(name, resource, with_worker=True)

    found = engines.use(work)
    printer.result(found, lambda: _draw_why(found))


@click.command(epilog=options.example("isotherm timeline web", "isotherm timeline web --generation 3",
                                      "isotherm timeline web --json"))
@click.argument("name")
@click.option("--generation", type=click.IntRange(min=1), metavar="N",
              help="The operation with this generation; by default the newest.")
@click.option("--limit", type=click.IntRange(1, 500), default=60, show_default=True, metavar="N",
              help="Show at most N resources: those on the critical path, and those that took longest.")
@options.json_option
@click.pass_obj
def timeline(printer: console.Printer, name: str, generation: int | None, limit: int) -> None:
    """Show when each resource of an operation began and ended.

    Resources on the critical path are marked: they decided how long the operation took.
    """
    found = engines.use(lambda engine: _timeline(engine, name, generation, limit))
    printer.result(found, lambda: _draw_timeline(found))


async def _timeline(engine: port.EnginePort, name: str, generation: int | None, limit: int) -> dict[str, Any]:
    service = engine.orchestrator.timelines
    if generation is None:
        return await service.timeline(name, most=limit)
    operations = (await service.operations(name, generation + 1, 1))["operations"]
    if not operations or operations[0]["generation"] != generation:
        raise click.UsageError(f"The stack has no operation of generation {generation} any more.")
    return await service.timeline(name, operations[0]["id"], limit)


def _draw_why(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield console.text(found["sentence"], "bold")
    yield Text("")
    left, steps = found["left_out"], found["chain"]
    rows: list[tuple[object, ...]] = [_step(step, steps[0]["stack"]["id"]) for step in steps]
    if left:
        rows.insert(len(rows) - 1, ("", f"... {left} more ...", "", "", ""))
    yield console.table(["", "resource", "state", "type", "reason"], rows, styles=["", "cyan", "", "dim", "dim"], keep=3)
    if found["attempts"]:
        yield Text("")
        yield console.heading("Attempts")
        rows = [(f"{one['action']} {one['status'].lower()}", _length(one["began"], one["ended"]), one["reason"])
                for one in found["attempts"]]
        yield console.indent(console.table(["attempt", "took", "reason"], rows, styles=["", "", "dim"]))


def _step(step: Mapping[str, Any], stack_id: str) -> tuple[object, ...]:
    state = NodeState[step["state"]]
    sign, style = words.SIGNS[state]
    inside = "" if step["stack"]["id"] == stack_id else f"{step['stack']['name']} / "
    return Text(sign, style), inside + step["name"], step["state"].lower(), step["type"], step["reason"]


def _draw_timeline(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    operation = found["operation"]
    begun = operation["began"]
    ended = found["now"] if operation["ended"] is None else operation["ended"]
    state = "in progress" if operation["running"] else operation["state"].lower()
    yield Text.assemble((f"{operation['action'].lower()}, generation {operation['generation']}: ", "bold"),
                        f"{state}, {_length(begun, ended)}")
    if found["partial"]:
        yield Text("Events of this operation were deleted (max_events_per_stack): some resources are missing.", "yellow")
    yield Text("")
    scale = (begun, max(ended - begun, 0.001))
    rows = [_span(span, scale, set(found["critical"]), ended) for span in found["spans"]]
    yield console.table(["", "resource", "took", "", "outcome"], rows, styles=["", "cyan"], keep=5)
    if found["left_out"]:
        yield Text(f"{found['left_out']:,} more were shorter. --json has them by group.", "dim")


def _span(span: Sequence[Any], scale: tuple[float, float], path: set[str], until: float) -> tuple[object, ...]:
    name, _, _, _, began, _, ended, outcome = span
    start, length = scale
    first = min(_WIDTH - 1, max(0, int((began - start) / length * _WIDTH)))
    last = min(_WIDTH, max(first + 1, int(((until if ended is None else ended) - start) / length * _WIDTH + 0.5)))
    bar = Text(" " * first + "█" * (last - first), _STYLES.get(outcome, ""))
    mark = Text("*" if name in path else "", "bold")
    return mark, name, _length(began, ended), bar, outcome.lower().replace("_", " ")


def _length(began: float | None, ended: float | None) -> str:
    if began is None or ended is None:
        return ""
    seconds = max(0.0, ended - began)
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))


@click.command(epilog=options.example("isotherm history web", "isotherm history web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def history(printer: console.Printer, name: str) -> None:
    """List the inputs that a stack had.

    The newest input comes first. Operations that changed no input are part of the line before them: 3-5 means that
    generations 3 to 5 had the same template, parameters, environment and files. The option max_operation_history says how
    many inputs are kept.
    """
    found = engines.use(lambda engine: engine.orchestrator.history.list(name))
    rows = [(_generation_range(one), words.status(f"{one['action']}_{one['status']}"), one["requested_by"],
             views.time(one["began"]), views.time(one["ended"]) or "", _changed(one)) for one in found]
    printer.result({"history": found}, lambda: [console.table(
        ["generation", "status", "by", "began", "ended", "changed"], rows, styles=["cyan", "", "dim", "dim", "dim", ""],
        keep=2)])


def _generation_range(one: Mapping[str, Any]) -> str:
    first, last = one["generation"], one["last_generation"]
    return str(first) if first == last else f"{first}-{last}"


def _changed(one: Mapping[str, Any]) -> str:
    if one["changed"] is None:
        return "(the input before is not kept)"
    return ", ".join(one["changed"]) or ("first" if one["generation"] == 1 else "")


@click.command(epilog=options.example("isotherm diff web", "isotherm diff web 3 5", "isotherm diff web 3 --json"))
@click.argument("name")
@click.argument("first", type=click.IntRange(min=1), metavar="[FROM]", required=False)
@click.argument("second", type=click.IntRange(min=1), metavar="[TO]", required=False)
@options.json_option
@click.pass_obj
def diff(printer: console.Printer, name: str, first: int | None, second: int | None) -> int:
    """Compare the inputs of two generations of a stack.

    Shows the differences of template, parameters, environment and files. Without TO, the newest generation is meant;
    without FROM, the input before that. `isotherm history NAME` lists the generations. Hidden values are masked.
    """
    found = engines.use(lambda engine: engine.orchestrator.history.diff(name, first, second))
    printer.result(found, lambda: _draw_difference(found))
    return codes.OK


def _draw_difference(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not any(found[part] for part in ("template", "parameters", "environment", "files")):
        yield Text("The inputs are the same.")
        return
    for part in ("parameters", "environment"):
        if found[part]:
            yield console.heading(part.capitalize())
            rows = [(name, console.text(one["from"]), console.text(one["to"])) for name, one in found[part].items()]
            yield console.indent(console.table(["name", "from", "to"], rows, styles=["cyan", "", ""], keep=1))
    for text in (found["template"], *found["files"].values()):
        if text:
            yield Text("")
            yield from (console.text(line, _LINE_STYLES.get(line[:1], "")) for line in text.splitlines())
