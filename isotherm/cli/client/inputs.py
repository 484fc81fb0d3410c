"""Turns the arguments of a command into a template that is read, bound and validated.

All commands that take a template call `read`, then `check`. Problems leave this module with a line and column.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isotherm import errors
from isotherm.cli.client import files, places, type_registry
from isotherm.cli.show import console
from isotherm.resources.validation import custom_constraints, validate
from isotherm.template import environment, merge
from isotherm.template.model import model
from isotherm.template.parameters import parameters
from isotherm.template.text import document, locate

STDIN = "-"
#: The prefix of variables that give values of parameters.
VARIABLE = "ISOTHERM_VAR_"
_NO_SINKS = ("event_sinks are kept with the stack, and nothing is delivered to them: Isotherm does not speak to Zaqar. "
             "Webhooks and a broker are options of the service (docs/notifications.md).")


@dataclass(frozen=True, slots=True)
class TemplateInputs:
    """The template, the environment and all files, in memory."""

    text: str
    document: document.Document
    template: model.Template
    environment: environment.Environment
    files: Mapping[str, str]


def read(printer: console.Printer, template: str, environments: tuple[str, ...] = (),
         given: Mapping[str, str] | None = None) -> TemplateInputs:
    """Read the template, the environments and all files they name."""
    # Before the first template is read: plug-ins bring functions and constraints along.
    type_registry.plugins()
    text, base = _template_text(template)
    source = "<stdin>" if template == STDIN else template
    printer.sources[source] = text
    found = document.load(text, source=source)
    collection = files.Collection(base)
    with located(found):
        parsed = model.parse(found)
        collection.add_template(found)
    loaded = [_environment(printer, name, collection) for name in environments]
    merged = merge.merge(loaded, merge.known_parameters(parsed.parameters, collection.files), environments)
    # Not merged like a file: the command line always wins, and validation must see unknown names.
    merged = replace(merged, parameters={**_from_variables(parsed.parameters), **merged.parameters, **(given or {})})
    return TemplateInputs(text, found, parsed, merged, collection.files)


def _from_variables(names: Iterable[str]) -> dict[str, str]:
    """Return the values of parameters that variables of the process give. Those of files and options win."""
    return {name: os.environ[VARIABLE + name] for name in names if VARIABLE + name in os.environ}


def environment_only(printer: console.Printer, environments: tuple[str, ...],
                 given: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Read environments without a template, for an update that keeps the stack's. The later file wins."""
    collection = files.Collection(Path.cwd())
    loaded = [_environment(printer, name, collection) for name in environments]
    merged = merge.merge(loaded, {}, environments)
    values = {name: value for one in loaded for name, value in one.parameters.items()}
    defaults = {name: value for one in loaded for name, value in one.parameter_defaults.items()}
    merged = replace(merged, parameters={**values, **given}, parameter_defaults=defaults)
    return merged.as_dict(), dict(collection.files)


def check(inputs: TemplateInputs, *, stack_name: str) -> model.Bound:
    """Bind and validate, as the engine does before it accepts a stack."""
    pseudo = parameters.Pseudo(stack_name=stack_name)
    with located(inputs.document):
        return validate.accept(inputs.template, inputs.environment, type_registry.registry(), pseudo=pseudo,
                               files=inputs.files)


def check_incomplete(inputs: TemplateInputs, *, stack_name: str) -> model.Bound:
    """Bind and validate with parameters that may lack values. If some do, only the names of properties are checked."""
    template, pseudo = inputs.template, parameters.Pseudo(stack_name=stack_name, dialect=inputs.template.dialect)
    # Before parameters are checked: the types bring along the constraints that need a cloud.
    types = type_registry.registry()
    with located(inputs.document):
        values = parameters.bind(template.parameters, inputs.environment, pseudo, require_all=False,
                                 custom=custom_constraints.LOCAL)
        if all(name in values for name in template.parameters):
            return check(inputs, stack_name=stack_name)
        bound = validate.bind(template, values, files=inputs.files)
        validate.validate(bound, inputs.environment, types, strict=False)
    return bound


@contextmanager
def located(source: document.Document) -> Iterator[None]:
    """Add line and column to the problems raised inside."""
    try:
        yield
    except errors.UserError as error:
        raise locate.problems(error, source) from error


def _template_text(template: str) -> tuple[str, places.Place]:
    if template == STDIN:
        return _decoded(sys.stdin.buffer.read(), "<stdin>"), Path.cwd()
    place = places.of(template)
    return _decoded(places.read(place), template), places.folder(place)


def _environment(printer: console.Printer, name: str, collection: files.Collection) -> environment.Environment:
    place = places.of(name)
    text = _decoded(places.read(place), name)
    printer.sources[name] = text
    found = document.load(text, source=name)
    with located(found):
        collection.add_environment(found, places.folder(place))
        loaded = environment.load(found.data)
    if loaded.event_sinks:
        printer.err.print(console.text(f"note: {name}: {_NO_SINKS}", "yellow"))
    return loaded


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise errors.UserError("not UTF-8 text", mark=errors.Mark(line, column, name)) from None
