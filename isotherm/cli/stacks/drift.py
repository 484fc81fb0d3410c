"""`isotherm drift` and `isotherm observe`: what is there, beside what was made and what is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.process.embedded import Embedded

POLICIES, MODES = ("ignore", "report", "repair"), ("active", "maintenance", "paused")
DEFAULT = "default"
_WORDS = {"in_sync": ("as it should be", "green"), "drifted": ("drifted", "red"), "gone": ("gone", "bold red"),
          "unseen": ("could not be seen", "yellow"), "never_seen": ("not looked at yet", "dim")}


@click.command(epilog=options.example(
    "isotherm drift web", "isotherm drift web config", "isotherm drift web --policy repair --interval 5",
    "isotherm drift web config --policy ignore", "isotherm drift web --mode maintenance"))
@click.argument("name")
@click.argument("resource", required=False)
@click.option("--all", "whole", is_flag=True, help="Also what is as it should be.")
@click.option("--policy", type=click.Choice((*POLICIES, DEFAULT)),
              help="What follows on drift, from now on: nothing, a report, a repair, or what the options say.")
@click.option("--interval", type=click.FloatRange(min=0), metavar="SECONDS",
              help="How often to look at the stack; 0: as the options say.")
@click.option("--mode", type=click.Choice(MODES),
              help="maintenance: nothing is repaired; paused: nobody looks; active: as the policy says.")
@options.json_option
@click.pass_obj
def drift(  # noqa: PLR0913 - one for each option
          printer: console.Printer, name: str, resource: str | None, whole: bool, policy: str | None,
          interval: float | None, mode: str | None) -> None:
    """What of a stack is not what was made of it, and what is done about it.

    Shows what the observer saw last: `isotherm observe NAME` looks now. With --policy, --interval or --mode, says how the
    stack (or, with --policy, the one resource) is watched from now on; whatever was given up is then repaired again.
    """
    if resource is not None and (interval is not None or mode is not None):
        raise click.UsageError("--interval and --mode are of whole stacks: leave the resource out.")

    async def work(engine: Embedded) -> dict[str, Any]:
        await _change(engine, name, resource, (policy, interval, mode))
        return await _view(engine, name, resource, whole=whole)

    told = home.use(Embedded, work)
    printer.result(told, lambda: _draw(told, single=resource is not None))


@click.command(epilog=options.example("isotherm observe web", "isotherm observe web config"))
@click.argument("name")
@click.argument("resource", required=False)
@options.json_option
@click.pass_obj
def observe(printer: console.Printer, name: str, resource: str | None) -> None:
    """Look now at what a stack has made, and show what has drifted."""

    async def work(engine: Embedded) -> dict[str, Any]:
        with printer.busy(f"looking at {name}"):
            await engine.orchestrator.drift.observe(name, resource)
        return await _view(engine, name, resource)

    told = home.use(Embedded, work)
    printer.result(told, lambda: _draw(told, single=resource is not None))


@click.command(epilog=options.example("isotherm observing", "isotherm observing maintenance", "isotherm observing active"))
@click.argument("mode", type=click.Choice(MODES), required=False)
@options.json_option
@click.pass_obj
def observing(printer: console.Printer, mode: str | None) -> None:
    """Pause the watching or the repairs of all stacks, or go on.

    In maintenance nothing is repaired; paused, nobody looks. `isotherm drift NAME --mode` says it of one stack.
    """

    async def work(engine: Embedded) -> dict[str, str]:
        if mode is not None:
            await engine.orchestrator.drift.set_project_mode(mode)
        return {"mode": await engine.orchestrator.drift.project_mode()}

    told = home.use(Embedded, work)
    printer.result(told, lambda: [Text(told["mode"])])


async def _change(
    engine: Embedded, name: str, resource: str | None, asked: tuple[str | None, float | None, str | None]
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


async def _view(engine: Embedded, name: str, resource: str | None, *, whole: bool = False) -> dict[str, Any]:
    if resource is not None:
        return await engine.orchestrator.drift.show_resource(name, resource)
    return await engine.orchestrator.drift.show(name, whole=whole)


def _draw(told: Mapping[str, Any], *, single: bool) -> Iterator[RenderableType]:
    if single:
        yield from _resource(told)
        return
    yield Text.assemble((console.clean(told["stack_name"]), "bold"), "  ", _word(told["drift"]))
    yield console.facts(_facts(told))
    for one in told["resources"]:
        yield Text("")
        yield from _resource(one)


def _facts(told: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "policy", told["policy"] + ("" if told["mode"] == "active" else f", but {told['mode']}")
    yield "looked", told["observed_time"] or "never; `isotherm observe` looks now, `isotherm up` does all the time"
    counts = [f"{number:,} {_WORDS[word][0]}" for word, number in told["counts"].items() if number]
    if counts:
        yield "resources", ", ".join(counts)
    if told["given_up"]:
        yield "given up", Text(console.clean(", ".join(told["given_up"])), "bold red")


def _resource(one: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((console.clean(one["resource_name"]), "cyan"), "  ", _word(one["drift"]),
                        (f"  since {one['drifted_since']}" if one["drifted_since"] else "", "dim"),
                        (f"  {one['resource_type']}", "dim"))
    if one["reason"]:
        yield console.indent(console.text(one["reason"], "yellow"))
    if one["given_up_since"]:
        yield console.indent(
            Text(
                f"repair given up at {one['given_up_since']} after {one['repairs']} times: it is undone, or "
                "it fails. To try again, say --policy once more.",
                "bold red",
            )
        )
    for found in one["properties"]:
        yield console.indent(_property(found))


def _property(one: Mapping[str, Any]) -> Text:
    """A diff: what is live in red, what should be in green."""
    drawn = Text.assemble(
        (f"{console.clean(one['property'])}\n", "bold"), ("- live    ", "red"), _value(one["live"], "red"), "\n"
    )
    if one["change_pending"]:
        drawn.append("+ wanted  to be changed by an operation that is not complete\n", "green")
    else:
        drawn.append_text(Text("+ wanted  ", "green")).append_text(_value(one["wanted"], "green")).append("\n")
    return drawn.append_text(Text("  applied ", "dim")).append_text(_value(one["applied"], "dim"))


def _value(value: object, style: str) -> Text:
    """On one line, whatever it is."""
    several = isinstance(value, str) and "\n" in value
    return console.text(console.compact(value) if several else value, style)


def _word(word: str) -> Text:
    return Text(*_WORDS[word])
