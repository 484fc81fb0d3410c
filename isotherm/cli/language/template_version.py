"""`isotherm template-version`: the versions of the template language."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import RenderableType

from isotherm.cli import options
from isotherm.cli.show import console
from isotherm.template import versions


@click.group("template-version")
def template_version() -> None:
    """List the versions of the template language."""


@template_version.command("list", epilog=options.example("isotherm template-version list"))
@options.json_option
@click.pass_obj
def list_versions(printer: console.Printer) -> None:
    """List the versions, with their aliases."""
    rows = versions.listed()
    printer.result({"template_versions": rows}, lambda: _draw(rows))


def _draw(rows: list[dict[str, object]]) -> Iterator[RenderableType]:
    yield console.table(["version", "language", "also called"],
                     [(row["version"], row["type"], _short(row["aliases"])) for row in rows], styles=["cyan"])


def _short(aliases: object) -> str:
    return ", ".join(alias.partition(".")[2] for alias in aliases) if isinstance(aliases, list) else ""
