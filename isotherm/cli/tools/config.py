"""`isotherm config`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from isotherm import config as configuration
from isotherm import loading
from isotherm.cli import options
from isotherm.cli.client import home
from isotherm.cli.show import console
from isotherm.config.settings import Option, Settings

MASKED = "***"
CONFIG = "isotherm.conf"


@click.command(epilog=options.example("isotherm config", "isotherm config --config-file /etc/heat/heat.conf --json"))
@options.files_option
@options.json_option
@click.pass_obj
def config(printer: console.Printer, files: tuple[Path, ...]) -> None:
    """List the configuration options and their values."""
    settings = configuration.load(home.location() / CONFIG, *files)
    rows = [_row(one, settings) for one in configuration.options()]
    unknown = _unknown(settings.config_files)
    printer.result({"files": list(settings.config_files), "options": rows, "unknown": unknown},
                    lambda: _draw(rows, settings.config_files, unknown))


def _row(one: Option, settings: Settings) -> dict[str, Any]:
    value = getattr(settings, one.field)
    changed = value != one.default
    shown = MASKED if one.secret and value else value
    return {"group": one.group, "name": one.name, "value": list(shown) if isinstance(shown, tuple) else shown,
            "changed": changed, "help": one.help}


def _unknown(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    found: list[str] = loading.load("isotherm.config.files:unknown")(files)
    return found


def _draw(rows: list[dict[str, Any]], files: Sequence[str], unknown: list[str]) -> Iterator[RenderableType]:
    yield console.table(["section", "option", "value", "set", "description"],
                     [(row["group"], row["name"], _text(row["value"]), "yes" if row["changed"] else "", row["help"])
                      for row in rows], styles=["dim", "cyan"])
    yield f"Configuration files: {', '.join(files) or 'none'}"
    if unknown:
        said = ", ".join(_with_guess(one, [row["name"] for row in rows]) for one in unknown)
        yield f"Ignored, because Isotherm has no such options: {said}"


def _with_guess(option: str, known: Sequence[str]) -> str:
    """Return an unknown option, with the known one that it may be a misspelling of."""
    likely = difflib.get_close_matches(option.rpartition(" ")[2], known, 1, 0.85)
    return f"{option} (did you mean {likely[0]}?)" if likely else option


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
