"""`isotherm function`: the functions of the template language and the version that introduced each."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import RenderableType

from isotherm import config, errors, loading
from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.engine.process.home_files import CONFIG
from isotherm.plugins import installed
from isotherm.template import versions
from isotherm.template.functions.descriptions import DESCRIPTIONS


@click.group()
def function() -> None:
    """List the functions of the template language."""


@function.command("list", epilog=options.example("isotherm function list", "isotherm function list 2015-04-30",
                                                 "isotherm function list AWSTemplateFormatVersion.2010-09-09"))
@click.argument("version", default=versions.HOT_LATEST.name)
@options.json_option
@click.pass_obj
def list_functions(printer: console.Printer, version: str) -> None:
    """List the functions of a template version; by default, of the newest.

    VERSION is a version of `isotherm template-version list`, the part of it after the dot, or an alias.
    """
    # Plug-ins bring functions along. Loading them imports all resource types, which is slow.
    if installed.are_any(config.load(home.location() / CONFIG, *home.files()).plugin_dirs):
        loading.load("isotherm.cli.client.type_registry:plugins")()
    dialect = find(version)
    names = sorted({*dialect.functions, *dialect.condition_functions}, key=str.lower)
    rows = [_row(dialect, name) for name in names]
    data = {"version": dialect.name, "functions": rows, "removed": sorted(dialect.removed)}
    printer.result(data, lambda: _draw(dialect, rows))


def _row(dialect: versions.Dialect, name: str) -> dict[str, object]:
    return {"function": name, "description": DESCRIPTIONS.get(name, ""), "since": since(dialect, name),
            "conditions_only": name not in dialect.functions, "in_conditions": name in dialect.condition_functions}


def find(version: str) -> versions.Dialect:
    for (key, value), dialect in versions.VERSIONS.items():
        if version in (f"{key}.{value}", value):
            return dialect
    raise errors.NotFound(f"There is no template version {version}.",
                          hint="`isotherm template-version list` lists the versions")


def since(dialect: versions.Dialect, name: str) -> str:
    """Return the first version of the same language that has the function."""
    for other in versions.VERSIONS.values():
        if other.key == dialect.key and (name in other.functions or name in other.condition_functions):
            return other.version
    return dialect.version


def _draw(dialect: versions.Dialect, rows: list[dict[str, object]]) -> Iterator[RenderableType]:
    drawn = [(row["function"], row["since"], _where(row), row["description"]) for row in rows]
    yield console.table(["function", "since", "where", "description"], drawn, styles=["cyan"], keep=2)
    if dialect.removed:
        yield console.text(f"\nNo longer in this version: {', '.join(sorted(dialect.removed))}", "dim")


def _where(row: dict[str, object]) -> str:
    if row["conditions_only"]:
        return "conditions"
    return "everywhere" if row["in_conditions"] else "values"
