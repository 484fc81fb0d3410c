"""`isotherm validate`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from isotherm.cli import options
from isotherm.cli.client import inputs
from isotherm.cli.show import console
from isotherm.template.model import model
from isotherm.template.parameters.schema import MASK, ParameterSchema


@click.command(epilog=options.example("isotherm validate examples/site.yaml -e examples/production.env.yaml",
                                      "isotherm validate site.yaml --parameter servers=one,two --json"))
@options.template_argument
@options.environment_options
@options.json_option
@click.pass_obj
def validate(printer: console.Printer, template: str, environments: tuple[str, ...], parameters: dict[str, str]) -> None:
    """Validate a template and show its parameters.

    TEMPLATE is a file; - reads stdin. Files that it names (get_file, nested templates) are read relative to it. Parameters
    need no values; values that are given are checked.
    """
    read = inputs.read(printer, template, environments, parameters)
    summary = summarise(inputs.check_incomplete(read, stack_name="validate"))
    printer.result(summary, lambda: _draw(summary, template))


def summarise(bound: model.Bound) -> dict[str, Any]:
    """Return the parameters, resources and outputs of a template, as data."""
    template = bound.template
    return {
        "valid": True,
        "version": template.dialect.name,
        "description": template.description,
        "parameters": [_parameter(schema, bound.values) for schema in template.parameters.values()],
        "parameter_groups": list(_groups(template.parameter_groups, list(template.parameters))),
        "resources": len(bound.definitions),
        "outputs": [{"name": name, "description": output.description}
                    for name, output in bound.outputs.items()],
    }


def _parameter(schema: ParameterSchema, values: Mapping[str, Any]) -> dict[str, Any]:
    hidden = schema.hidden
    data: dict[str, Any] = {
        "name": schema.name, "type": schema.type.value, "label": schema.label or schema.name,
        "description": schema.description, "required": not schema.has_default and schema.name not in values,
        "hidden": hidden, "immutable": schema.immutable,
        "constraints": [constraint.as_dict() for constraint in schema.constraints],
    }
    if schema.has_default:
        data["default"] = MASK if hidden else schema.default
    if schema.name in values:
        data["value"] = MASK if hidden else values[schema.name]
        data["is_default"] = schema.has_default and schema.convert(schema.default) == values[schema.name]
    return data


def _groups(groups: Iterable[Any], names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the parameter groups, and a last one for parameters without a group."""
    grouped: set[str] = set()
    for group in groups:
        members = [str(name) for name in group.get("parameters", ())]
        grouped.update(members)
        yield {"label": group.get("label", ""), "description": group.get("description", ""), "parameters": members}
    if rest := [name for name in names if name not in grouped]:
        yield {"label": "", "description": "", "parameters": rest}


def _draw(summary: dict[str, Any], file: str) -> Iterator[RenderableType]:
    made = f"{console.count(summary['resources'], 'resource')}, {console.count(len(summary['outputs']), 'output')}"
    yield Text.assemble((console.clean(file), "bold"), ": ", ("valid", "bold green"), f"  {summary['version']}, {made}")
    if summary["description"]:
        yield console.indent(console.text(" ".join(str(summary["description"]).split()), "dim"))
    by_name = {parameter["name"]: parameter for parameter in summary["parameters"]}
    for group in summary["parameter_groups"]:
        yield Text("")
        yield console.heading(group["label"] or "Parameters")
        if group["description"]:
            yield console.indent(console.text(group["description"], "dim"))
        yield console.indent(_parameter_table([by_name[name] for name in group["parameters"] if name in by_name]))
    if summary["outputs"]:
        yield Text("")
        yield console.heading("Outputs")
        rows = [(output["name"], output["description"]) for output in summary["outputs"]]
        yield console.indent(console.table(["name", "description"], rows, styles=["cyan", "dim"]))


def _parameter_table(parameters: list[dict[str, Any]]) -> RenderableType:
    rows = [(p["name"], p["type"], _value(p), console.about(p["description"], p["constraints"])) for p in parameters]
    return console.table(["name", "type", "value", "description"], rows, styles=["cyan"], keep=2)


def _value(parameter: dict[str, Any]) -> Text:
    if parameter["required"]:
        return Text("required", "yellow")
    shown = console.text(parameter.get("value"))
    if parameter.get("is_default"):
        shown.append(" (default)", "dim")
    return shown
