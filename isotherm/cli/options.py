"""Options that several commands share."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _set_json(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.obj.as_json = True


#: `--json`: print the result as one JSON document. The Printer handles it; commands do not.
json_option = click.option("--json", is_flag=True, expose_value=False, callback=_set_json, is_eager=True,
                           help="Print the result as JSON.")


def example(*lines: str) -> str:
    """Return the end of a command's help: example command lines."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def _pairs(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"'{value}' is not NAME=VALUE", param=parameter)
        pairs[name] = text
    return pairs


#: `--config-file FILE` as `files`.
files_option = click.option(
    "--config-file", "files", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path),
    help="A configuration file, read after isotherm.conf of the home. May be a heat.conf. Repeatable; the last one wins.")

FILE = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)

template_argument = click.argument("template", type=FILE)
template_option = click.option("-t", "--template", type=FILE, required=True, help="The template file; - reads stdin.")

_environment = click.option("-e", "--environment", "environments", type=click.Path(exists=True, dir_okay=False),
                            multiple=True, metavar="FILE",
                            help="An environment file. Repeatable; the last one wins.")
_parameter = click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", callback=_pairs,
                          help="The value of a parameter. Overrides the environments. Repeatable.")


def environment_options(command: F) -> F:
    """Add `-e FILE` as `environments` and `--parameter NAME=VALUE` as `parameters`."""
    return _environment(_parameter(command))
