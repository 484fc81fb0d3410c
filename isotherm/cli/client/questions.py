"""Asks the user at the terminal: for values of parameters, and for confirmation of a plan."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from isotherm import errors
from isotherm.cli.show import console, plan_view
from isotherm.template.parameters.schema import ParameterSchema, missing


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def missing_values(error: errors.UserError, parameters: Mapping[str, ParameterSchema]) -> dict[str, str]:
    """Ask for the parameters whose absence the error reports. Raises the error if it reports anything else."""
    messages = {missing(name).problems[0].message: schema for name, schema in parameters.items()}
    asked = [messages.get(problem.message) for problem in error.problems]
    if not has_terminal() or not all(asked):
        raise error
    return {schema.name: _value(schema) for schema in asked if schema is not None}


def _value(schema: ParameterSchema) -> str:
    about = console.about(schema.description, [constraint.as_dict() for constraint in schema.constraints]).plain
    if about:
        click.echo(about)
    value: str = click.prompt(console.clean(schema.name), hide_input=schema.hidden, default="", show_default=False)
    return value


def confirm_plan(plan: Mapping[str, Any], *, yes: bool, destroy: str | None) -> None:
    """Ask whether to apply a plan, and once more, for the number, if it deletes or replaces objects.

    Raises Abort if the answer is no, and UsageError if there is no terminal to ask at.
    """
    number, changed = plan_view.destroyed(plan), plan_view.changes(plan)
    if not changed:
        return
    confirm("Apply this plan?", yes=yes)
    if number:
        _confirm_destruction(number, destroy)


def confirm(question: str, *, yes: bool) -> None:
    """Ask a question. Raises Abort if the answer is no, and UsageError if there is no terminal to ask at."""
    if not yes:
        if not has_terminal():
            raise click.UsageError("There is no terminal for the confirmation. Add --yes to apply without it.")
        click.confirm(question, abort=True)


def _confirm_destruction(number: int, destroy: str | None) -> None:
    objects = console.count(number, "resource")
    if destroy is not None:
        if destroy in ("all", str(number)):
            return
        raise click.UsageError(f"The plan deletes or replaces {objects}, not {console.clean(destroy)}.")
    if not has_terminal():
        raise click.UsageError(f"The plan deletes or replaces {objects}. Add --destroy {number} to confirm the number.")
    answer = click.prompt(f"It deletes or replaces {objects}. Type {number} to confirm", default="", show_default=False)
    if answer.strip() != str(number):
        raise click.Abort
