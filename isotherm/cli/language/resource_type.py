"""`isotherm resource-type`: the resource types, their properties, and a template to start from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click
import yaml
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import type_registry
from isotherm.cli.show import console


@click.group("resource-type")
def resource_type() -> None:
    """List and show resource types."""


@resource_type.command("list", epilog=options.example("isotherm resource-type list",
                                                      "isotherm resource-type list Random"))
@click.argument("name", default="")
@options.json_option
@click.pass_obj
def list_types(printer: console.Printer, name: str) -> None:
    """List the resource types; with NAME, those whose name contains it or matches it as a wildcard pattern."""
    types = type_registry.registry()
    rows = [{"resource_type": one, "description": types.show(one)["description"]} for one in types.list(name=name)]
    printer.result({"resource_types": rows}, lambda: [console.table(
        ["type", "description"], [(row["resource_type"], _first_line(row["description"])) for row in rows],
        styles=["cyan"])])


@resource_type.command("show", epilog=options.example("isotherm resource-type show OS::Heat::RandomString"))
@click.argument("name")
@options.json_option
@click.pass_obj
def show_type(printer: console.Printer, name: str) -> None:
    """Show the properties and attributes of the type NAME."""
    shown = type_registry.registry().show(name)
    printer.result(shown, lambda: _draw(shown))


@resource_type.command("template", epilog=options.example("isotherm resource-type template OS::Heat::RandomString",
                                                          "isotherm resource-type template OS::Heat::Value --form cfn"))
@click.argument("name")
@click.option("--form", type=click.Choice(["hot", "cfn"]), default="hot", show_default=True, help="The template language.")
@options.json_option
@click.pass_obj
def template(printer: console.Printer, name: str, form: str) -> None:
    """Print a template with one resource of the type NAME, to start from."""
    made = type_registry.registry().template(name, form)
    if printer.as_json:
        printer.json(made)
    else:
        printer.plain(yaml.safe_dump(made, sort_keys=False, allow_unicode=True))


def _draw(shown: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield console.heading(shown["resource_type"])
    yield console.indent(console.text(shown["description"]))
    yield Text("")
    yield console.heading("Properties")
    if shown["properties"]:
        yield console.indent(console.table(["name", "type", "default", "on change", "description"],
                                     _properties(shown["properties"]), styles=["cyan"], keep=2))
    else:
        yield console.indent(console.text("none", "dim"))
    yield Text("")
    yield console.heading("Attributes")
    rows = [(name, attribute.get("type", "any"), attribute.get("description", ""))
            for name, attribute in shown["attributes"].items()]
    yield console.indent(console.table(["name", "type", "description"], rows, styles=["cyan"], keep=2))


def _properties(properties: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[object, ...]]:
    """Yield a row per property; properties of a map or list follow it, indented."""
    for name, schema in properties.items():
        inner = schema.get("schema") or {}
        if name == "*" and inner:  # list items: their properties say it all
            yield from _properties(inner, depth)
            continue
        about = console.about(schema.get("description"), schema.get("constraints", ()))
        yield "  " * depth + name, schema["type"], _default(schema), "" if depth else _on_change(schema), about
        yield from _properties(inner, depth + 1)


def _default(schema: Mapping[str, Any]) -> Text:
    return Text("required", "yellow") if schema.get("required") else console.text(schema.get("default"))


def _on_change(schema: Mapping[str, Any]) -> str:
    if schema["immutable"]:
        return "refused"
    return "in place" if schema["update_allowed"] else "replaces"


def _first_line(description: str) -> str:
    return description.splitlines()[0] if description else ""
