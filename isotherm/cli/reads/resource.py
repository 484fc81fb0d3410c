"""`isotherm resource`: everything about one resource of a stack."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm import errors
from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console, words

# Events that are shown.
_LAST = 10
_SCANNED = 1000
_NOTHING: Mapping[str, Any] = {"sentence": "", "waits_for": (), "versions": (), "attempts": ()}


@click.command(epilog=options.example("isotherm resource web server", "isotherm resource web server --json"))
@click.argument("name")
@click.argument("resource")
@options.cloud_option
@options.json_option
@click.pass_obj
def resource(printer: console.Printer, name: str, resource: str) -> None:
    """Show one resource of a stack: properties, attributes, causes.

    Properties are shown as they were last applied and, where they have drifted, as they were observed and are wanted. To
    observe now, use `isotherm observe NAME RESOURCE`.
    """
    found = engines.use(lambda engine: _read(engine, name, resource))
    printer.result(found, lambda: _draw(found))


async def _read(engine: port.EnginePort, name: str, resource: str) -> dict[str, Any]:
    orchestrator = engine.orchestrator
    shown = await orchestrator.resources.show(name, resource)
    why = await _known(orchestrator.causes.why(name, resource)) or _NOTHING
    drift = await _known(orchestrator.drift.show_resource(name, resource))
    events = await orchestrator.events.list(name, last=_SCANNED)
    return {
        **{key: shown[key] for key in ("resource_name", "resource_type", "description", "creation_time", "updated_time",
                                       "required_by", "attributes")},
        "physical_resource_id": shown["physical_resource_id"] or None,
        "resource_status": f"{shown['action']}_{shown['status']}",
        "requires": [one["name"] for one in why["waits_for"]], "why": why["sentence"], "versions": why["versions"],
        "attempts": why["attempts"], "drift": drift,
        "events": [one for one in events if one["resource_name"] == resource][-_LAST:],
    }


async def _known(ask: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the answer; None if the resource has no version yet, or the service is a Heat, which does not tell."""
    try:
        return await ask
    except errors.UserError as error:
        if isinstance(error, errors.NotFound) or error.kind == "NotSupported":
            return None
        raise


def _draw(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((console.clean(found["resource_name"]), "bold"), "  ", words.status(found["resource_status"]),
                        ("  " + console.clean(found["resource_type"]), "dim"))
    if found["why"]:
        yield console.indent(console.text(found["why"]))
    yield Text("")
    yield console.facts(_facts(found))
    yield from _properties(found["drift"])
    if found["attributes"]:
        drawn = console.table(["attribute", "value"], found["attributes"].items(), styles=["cyan"])
        yield from _section("Attributes", drawn)
    if len(found["versions"]) > 1:
        rows: list[tuple[object, ...]] = [
            (one["physical_id"], words.status(f"{one['action']}_{one['status']}"), "yes" if one["superseded"] else "")
            for one in found["versions"]]
        yield from _section("Versions", console.table(["physical id", "status", "superseded"], rows))
    if found["events"]:
        rows = [(one["event_time"], words.status(one["resource_status"]), one["resource_status_reason"])
                for one in found["events"]]
        yield from _section("Newest events", console.table(["time", "status", "reason"], rows, styles=["dim"], keep=2))


def _facts(found: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    facts = {
        "physical id": found["physical_resource_id"], "description": found["description"],
        "requires": ", ".join(found["requires"]), "required by": ", ".join(found["required_by"]),
        "created": found["creation_time"], "updated": found["updated_time"],
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _properties(drift: Mapping[str, Any] | None) -> Iterator[RenderableType]:
    if drift is None:
        return
    differing = {one["property"]: one for one in drift["properties"]}
    rows: list[tuple[object, ...]] = []
    for name in dict.fromkeys((*drift["applied"], *differing)):
        one = differing.get(name)
        wanted = "" if one is None else "(to be changed)" if one["change_pending"] else one["wanted"]
        rows.append((name, drift["applied"].get(name), "" if one is None else one["live"], wanted))
    columns = ["property", "applied", *(["live", "wanted"] if differing else [])]
    if rows:
        drawn = console.table(columns, [row[:len(columns)] for row in rows], styles=["cyan", "", "red", "green"])
        yield from _section("Properties", drawn)


def _section(title: str, table: console.TextTable) -> Iterator[RenderableType]:
    yield Text("")
    yield console.heading(title)
    yield console.indent(table)
