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


def _set_cloud(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value:
        # The key is `home.CLOUD`, which is not imported: `--help` does not load the engine.
        context.meta["isotherm.cloud"] = value


#: `--os-cloud NAME`: the entry of clouds.yaml whose cloud is used.
cloud_option = click.option("--os-cloud", metavar="NAME", expose_value=False, callback=_set_cloud,
                            help="The cloud, an entry of clouds.yaml; by default that of the variable OS_CLOUD.")


def _set_remote(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value:
        # The key is `home.REMOTE`.
        context.meta["isotherm.remote"] = value


#: `--remote NAME`, of the program itself.
remote_option = click.option(
    "--remote", metavar="NAME|URL", expose_value=False, callback=_set_remote,
    help="Work with a service, not with the engine on this machine: an entry of clouds.yaml, or a URL. By default that of "
         "the variable ISOTHERM_REMOTE.")


def _set_nested(context: click.Context, _parameter: click.Parameter, value: int) -> None:
    # The key is `home.NESTED`.
    context.meta["isotherm.nested"] = value


#: `--nested DEPTH`: how many levels of nested stacks are shown.
nested_option = click.option("--nested", type=click.IntRange(min=0), default=0, metavar="DEPTH", expose_value=False,
                             callback=_set_nested, help="Go into nested stacks, so many levels deep.")


def example(*lines: str) -> str:
    """Return the end of a command's help: example command lines."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def pairs(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parse values of the form NAME=VALUE, as a callback of a parameter."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"'{value}' is not NAME=VALUE", param=parameter)
        found[name] = text
    return found


#: `--config-file FILE` as `files`.
files_option = click.option(
    "--config-file", "files", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path),
    help="A configuration file, read after isotherm.conf of the home. May be a heat.conf. Repeatable; the last one wins.")

timeout_option = click.option("--timeout", "timeout", type=click.FloatRange(min=0, min_open=True), metavar="MINUTES",
                              help="The operation fails after this time.")
tags_option = click.option("--tags", metavar="A,B", help="Tags of the stack, separated by commas.")
#: `--fresh`: of plan and apply, which keep what the stack has unless something else is given.
fresh_option = click.option("--fresh", is_flag=True,
                            help="Take over no parameters and no environment from the stack: use only what is given.")


_target = click.option("--target", multiple=True, metavar="RESOURCE",
                       help="Change only this resource, with what it needs. Repeatable.")
_exclude = click.option("--exclude", multiple=True, metavar="RESOURCE",
                        help="Do not change this resource, nor what needs it. Repeatable.")


def choice_options(command: F) -> F:
    """Add `--target RESOURCE` as `target` and `--exclude RESOURCE` as `exclude`."""
    return _target(_exclude(command))


#: `--move OLD=NEW` as `moved`.
move_option = click.option("--move", "moved", multiple=True, metavar="OLD=NEW", callback=pairs,
                           help="The resource OLD of the stack is NEW in the template: keep its object. Repeatable.")


def split_tags(tags: str | None) -> list[str]:
    return [tag.strip() for tag in (tags or "").split(",") if tag.strip()]


class _FileOrUrl(click.Path):
    """A path that exists, or a URL, which is fetched when it is read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if "://" in str(value) else super().convert(value, param, ctx)


FILE = _FileOrUrl(exists=True, dir_okay=False, readable=True, allow_dash=True)

template_argument = click.argument("template", type=FILE)
template_option = click.option("-t", "--template", type=FILE, required=True,
                               help="The template, a file or a URL; - reads stdin.")

_environment = click.option("-e", "--environment", "environments", type=_FileOrUrl(exists=True, dir_okay=False),
                            multiple=True, metavar="FILE|URL",
                            help="An environment file. Repeatable; the last one wins.")
_parameter = click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE", callback=pairs,
                          help="The value of a parameter. Overrides the environments. Repeatable.")


def environment_options(command: F) -> F:
    """Add `-e FILE` as `environments` and `--parameter NAME=VALUE` as `parameters`."""
    return _environment(_parameter(command))
