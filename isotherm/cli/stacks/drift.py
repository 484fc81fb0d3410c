"""`isotherm drift`, `isotherm observe` and `isotherm observing`: the observer's results, and its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console

POLICIES, MODES = ("ignore", "report", "repair"), ("active", "maintenance", "paused")
DEFAULT = "default"
_WORDS = {"in_sync": ("in sync", "green"), "drifted": ("drifted", "red"), "gone": ("gone", "bold red"),
          "unseen": ("could not be observed", "yellow"), "never_seen": ("not observed yet", "dim")}


@click.command(epilog=options.example(
    "isotherm drift web", "isotherm drift web config", "isotherm drift web --policy repair --interval 5",
    "isotherm drift web config --policy ignore", "isotherm drift web --mode maintenance"))
@click.argument("name")
@click.argument("resource", required=False)
@click.option("--all", "whole", is_flag=True, help="Show resources that are in sync too.")
@click.option("--policy", type=click.Choice((*POLICIES, DEFAULT)),
              help="Set what happens on drift. default: observer_policy of the configuration.")
@click.option("--interval", type=click.FloatRange(min=0), metavar="SECONDS",
              help="Set the time between two observations of the stack. 0: observer_interval of the configuration.")
@click.option("--mode", type=click.Choice(MODES),
              help="Set the mode. active: follow the policy. maintenance: observe, but do not repair. paused: do not "
                   "observe.")
@options.cloud_option
@options.json_option
@click.pass_obj
def drift(  # noqa: PLR0913 - one for each option
          printer: console.Printer, name: str, resource: str | None, whole: bool, policy: str | None,
          interval: float | None, mode: str | None) -> None:
    """Show the drift of a stack, or set its drift policy.

    Shows the last observation. To observe now, use `isotherm observe NAME`.

    --policy, --interval and --mode set how the stack is observed; --policy also works for one RESOURCE. Setting any of them
    resumes repairs that were given up.
    """
    if resource is not None and (interval is not None or mode is not None):
        raise click.UsageError("--interval and --mode apply to whole stacks: leave RESOURCE out.")

    async def work(engine: port.EnginePort) -> dict[str, Any]:
        await _change(engine, name, resource, (policy, interval, mode))
        return await _view(engine, name, resource, whole=whole)

    view = engines.use(work)
    printer.result(view, lambda: _draw(view, single=resource is not None))


@click.command(epilog=options.example("isotherm observe web", "isotherm observe web config"))
@click.argument("name")
@click.argument("resource", required=False)
@options.cloud_option
@options.json_option
@click.pass_obj
def observe(printer: console.Printer, name: str, resource: str | None) -> None:
    """Observe the resources of a stack now and show their drift."""

    async def work(engine: port.EnginePort) -> dict[str, Any]:
        with printer.busy(f"observing {name}"):
            await engine.orchestrator.drift.observe(name, resource)
        return await _view(engine, name, resource)

    view = engines.use(work)
    printer.result(view, lambda: _draw(view, single=resource is not None))


@click.command(epilog=options.example("isotherm observing", "isotherm observing maintenance", "isotherm observing active"))
@click.argument("mode", type=click.Choice(MODES), required=False)
@options.json_option
@click.pass_obj
def observing(printer: console.Printer, mode: str | None) -> None:
    """Show or set the observation mode of all stacks.

    active: follow the drift policies. maintenance: observe, but do not repair. paused: do not observe. For one stack, use
    `isotherm drift NAME --mode`.
    """

    async def work(engine: port.EnginePort) -> dict[str, str]:
        if mode is not None:
            await engine.orchestrator.drift.set_project_mode(mode)
        return {"mode": await engine.orchestrator.drift.project_mode()}

    view = engines.use(work)
    printer.result(view, lambda: [Text(view["mode"])])


async def _change(
    engine: port.EnginePort, name: str, resource: str | None, asked: tuple[str | None, float | None, str | None]
) -> None:
    policy, interval, mode = asked
    if asked == (None, None, None):
        return
    chosen = None if policy == DEFAULT else policy
    if resource is not None:
        await engine.orchestrator.drift.set_resource_policy(name, resource, chosen)
        return
    await engine.orchestrator.drift.set_watch(
        name, policy="" if policy is None else chosen, interval=-1.0 if interval is None else interval or None,
        mode=mode or "")


async def _view(engine: port.EnginePort, name: str, resource: str | None, *, whole: bool = False) -> dict[str, Any]:
    if resource is not None:
        return await engine.orchestrator.drift.show_resource(name, resource)
    return await engine.orchestrator.drift.show(name, whole=whole)


def _draw(view: Mapping[str, Any], *, single: bool) -> Iterator[RenderableType]:
    if single:
        yield from _resource(view)
        return
    yield Text.assemble((console.clean(view["stack_name"]), "bold"), "  ", _word(view["drift"]))
    yield console.facts(_facts(view))
    for one in view["resources"]:
        yield Text("")
        yield from _resource(one)


def _facts(view: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "policy", view["policy"] + ("" if view["mode"] == "active" else f", but {view['mode']}")
    yield "observed", view["observed_time"] or "never; `isotherm observe` does it once, `isotherm up` continuously"
    counts = [f"{number:,} {_WORDS[word][0]}" for word, number in view["counts"].items() if number]
    if counts:
        yield "resources", ", ".join(counts)
    if view["given_up"]:
        yield "given up", Text(console.clean(", ".join(view["given_up"])), "bold red")


def _resource(one: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((console.clean(one["resource_name"]), "cyan"), "  ", _word(one["drift"]),
                        (f"  since {one['drifted_since']}" if one["drifted_since"] else "", "dim"),
                        (f"  {one['resource_type']}", "dim"))
    if one["reason"]:
        yield console.indent(console.text(one["reason"], "yellow"))
    if one.get("not_repaired"):
        yield console.indent(console.text(f"not repaired: {one['not_repaired']}", "yellow"))
    if one["given_up_since"]:
        yield console.indent(
            Text(
                f"repair given up at {one['given_up_since']} after {one['repairs']} attempts: it fails, or something "
                "undoes it. To try again, set --policy again.",
                "bold red",
            )
        )
    for found in one["properties"]:
        yield console.indent(_property(found))


def _property(one: Mapping[str, Any]) -> Text:
    """Draw a diff of a property: the live value in red, the wanted one in green."""
    drawn = Text.assemble(
        (f"{console.clean(one['property'])}\n", "bold"), ("- live    ", "red"), _value(one["live"], "red"), "\n"
    )
    if one["change_pending"]:
        drawn.append("+ wanted  to be changed by an operation that is not complete\n", "green")
    else:
        drawn.append_text(Text("+ wanted  ", "green")).append_text(_value(one["wanted"], "green")).append("\n")
    return drawn.append_text(Text("  applied ", "dim")).append_text(_value(one["applied"], "dim"))


def _value(value: object, style: str) -> Text:
    """Return a value on one line."""
    several = isinstance(value, str) and "\n" in value
    return console.text(console.compact(value) if several else value, style)


def _word(word: str) -> Text:
    return Text(*_WORDS[word])
