"""The options that several commands share, each defined once."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _set_json(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.obj.as_json = True


#: `--json`: the answer as one JSON document on stdout. Commands need not look at it: the terminal does.
json_option = click.option("--json", is_flag=True, expose_value=False, callback=_set_json, is_eager=True,
                           help="Answer with JSON.")


def example(*lines: str) -> str:
    """The end of a command's help: what to type."""
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
    help="A file of options besides isotherm.conf of the home; may be Heat's; later ones win.")

FILE = click.Path(exists=True, dir_okay=False, readable=True, allow_dash=True)

template_argument = click.argument("template", type=FILE)
template_option = click.option("-t", "--template", type=FILE, required=True, help="The template; - reads stdin.")

_environment = click.option("-e", "--environment", "environments", type=click.Path(exists=True, dir_okay=False),
                            multiple=True, metavar="FILE",
                            help="An environment file; may be given several times, later ones win.")
_parameter = click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", callback=_pairs,
                          help="The value of a parameter; wins over the environments.")


def environment_options(command: F) -> F:
    """`-e FILE` as `environments`, and `--parameter NAME=VALUE` as `parameters`."""
    return _environment(_parameter(command))
