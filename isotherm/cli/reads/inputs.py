"""`isotherm template`, `isotherm environment` and `isotherm files`: the input of a stack, with secrets masked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import click
import yaml

from isotherm import errors
from isotherm.cli import options
from isotherm.cli.client import engines, port
from isotherm.cli.show import console


@click.command(epilog=options.example("isotherm template web", "isotherm template web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def template(printer: console.Printer, name: str) -> None:
    """Print the template of a stack.

    It is that of the newest operation. Secrets in it are masked.
    """
    _print(printer, lambda inputs: inputs.template(name))


@click.command(epilog=options.example("isotherm environment web", "isotherm environment web --json"))
@click.argument("name")
@options.json_option
@click.pass_obj
def environment(printer: console.Printer, name: str) -> None:
    """Print the environment of a stack.

    It has the parameters that were given, with hidden ones masked, and the type mappings.
    """
    _print(printer, lambda inputs: inputs.environment(name))


@click.command(epilog=options.example("isotherm files web", "isotherm files web server.yaml"))
@click.argument("name")
@click.argument("file", required=False)
@options.json_option
@click.pass_obj
def files(printer: console.Printer, name: str, file: str | None) -> None:
    """List the files of a stack, or print one.

    They were sent with its template: nested templates, and texts of get_file. With --json, prints all with their texts.
    """
    found = _read(lambda inputs: inputs.files(name))
    if file is None:
        rows = [(one, len(text)) for one, text in found.items()]
        printer.result(found, lambda: [console.table(["file", "characters"], rows, styles=["cyan"])])
        return
    if file not in found:
        raise errors.NotFound(f"Stack {name} has no file {file}.", hint=f"It has: {', '.join(found) or 'none'}.")
    if printer.as_json:
        printer.json({file: found[file]})
    else:
        printer.plain(found[file])


def _print(printer: console.Printer, ask: Callable[[port.InputsPort], Coroutine[Any, Any, Any]]) -> None:
    """Print a document: as YAML, or with --json as JSON."""
    found = _read(ask)
    if printer.as_json:
        printer.json(found)
    else:
        printer.plain(yaml.safe_dump(found, sort_keys=False, allow_unicode=True))


def _read(ask: Callable[[port.InputsPort], Coroutine[Any, Any, Any]]) -> Any:
    async def work(engine: port.EnginePort) -> Any:
        return await ask(engine.orchestrator.inputs)

    return engines.use(work)
