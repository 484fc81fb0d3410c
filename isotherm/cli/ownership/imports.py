"""`isotherm import`: takes existing objects into a stack, or writes a template for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import click
import yaml
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import codes, options
from isotherm.cli.client import embedded, engines, inputs, port, questions
from isotherm.cli.client.changes import Options, request_for
from isotherm.cli.show import console
from isotherm.engine.orchestrator import Accepted

_STYLES = {"equal": "green", "differs": "yellow", "not observable": "yellow", "not found": "red", "not seen": "red"}


@click.command("import", epilog=options.example(
    "isotherm import web app=4711 -t examples/site.yaml --plan",
    "isotherm import web app=4711 -t examples/site.yaml --yes",
    "isotherm import web shop=4711 --generate --type shop=OS::Nova::Server > web.yaml"))
@click.argument("name")
@click.argument("objects", nargs=-1, required=True, metavar="RESOURCE=ID...", callback=options.pairs)
@click.option("-t", "--template", type=options.FILE,
              help="The template file; - reads stdin. Not given: the template of the stack.")
@options.environment_options
@click.option("--plan", "only_plan", is_flag=True, help="Only show what was found beside what the template says.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask whether to import.")
@click.option("--generate", is_flag=True, help="Print a template for the objects instead, from their live properties.")
@click.option("--type", "types", multiple=True, metavar="RESOURCE=TYPE", callback=options.pairs,
              help="With --generate: the type of an object. Repeatable.")
@options.cloud_option
@options.json_option
@click.pass_obj
def import_(  # noqa: PLR0913 - one for each option
            printer: console.Printer, name: str, objects: dict[str, str], template: str | None,
            environments: tuple[str, ...], parameters: dict[str, str], only_plan: bool, yes: bool, generate: bool,
            types: dict[str, str]) -> int:
    """Take existing objects into a stack, new or old, without touching them.

    The template describes each object as a resource. First the objects are observed and compared with the template; then
    they become resources of the stack. What differs is changed by the next update. The template may not change any other
    resource, and no object may belong to another one.
    """
    if generate:
        return _generate(printer, objects, types)
    if types:
        raise click.UsageError("--type belongs to --generate: the template says the types.")
    read = None if template is None else inputs.read(printer, template, environments, parameters)

    async def look(engine: port.EnginePort) -> tuple[str, Any, Mapping[str, Any]]:
        stack_id, request = await request_for(engine, name, read, Options(existing=True))
        with contextlib.nullcontext() if read is None else inputs.located(read.document):
            return stack_id or name, request, await engine.orchestrator.imports.plan(stack_id or name, request, objects)

    target, request, found = engines.use(look)
    if only_plan:
        printer.result(found, lambda: _draw(found))
        return codes.OK
    if not printer.as_json:
        printer.say(lambda: _draw(found))
    questions.confirm("Import these objects?", yes=yes)

    async def take(orchestrator: port.OrchestratorPort) -> Accepted:
        return await orchestrator.imports.take(target, request, objects, generation=found["generation"])

    return embedded.operate(printer, name, take)


def _generate(printer: console.Printer, objects: dict[str, str], types: dict[str, str]) -> int:
    found = engines.use(lambda engine: engine.orchestrator.imports.template(objects, types))
    printer.result(found, lambda: [Text(yaml.safe_dump(found, sort_keys=False, allow_unicode=True).rstrip())])
    return codes.OK


def _draw(found: Mapping[str, Any]) -> Iterator[RenderableType]:
    count = console.count(len(found["resources"]), "object")
    yield Text.assemble((console.clean(found["stack_name"]), "bold"), f": {count} to import")
    yield Text("")
    for one in found["resources"]:
        yield Text.assemble(
            (console.clean(one["resource_name"]), "bold"), "  ", (console.clean(one["resource_type"]), "dim"), "  ",
            (console.clean(one["physical_resource_id"]), "cyan"), "  ", (one["found"], _STYLES[one["found"]]),
            f"  {console.clean(one['reason'])}" if one["reason"] else "")
        for name, change in one["changes"].items():
            line = Text.assemble("    ", (console.clean(name), "cyan"), ": ")
            line.append_text(console.text(change["from"])).append(" → ", "dim")
            yield line.append_text(console.text(change["to"]))
    if any(one["found"] == "differs" for one in found["resources"]):
        yield Text("What differs stays as it is; the next update changes it.", "dim")
