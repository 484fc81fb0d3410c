"""Values of parameters, from the section of a template and an environment.

`parse_schemata` parses the section, `check` checks the schemata and the given values, `bind` makes the `Values`. They are
apart because Heat parses resource definitions in between: a template with several mistakes reports the same one first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from isotherm.errors import Problem, UserError, meant
from isotherm.template.environment import Environment
from isotherm.template.parameters import constraints
from isotherm.template.parameters.parse import parse_schemata
from isotherm.template.parameters.schema import MASK, ParameterSchema, ParameterType, missing
from isotherm.template.versions import HOT_LATEST, Dialect

__all__ = ["ParameterSchema", "ParameterType", "Pseudo", "Values", "arn", "bind", "check", "describe", "parse_schemata",
           "refuse_immutable"]


def arn(project: str, name: str, stack_id: str) -> str:
    """Return the ARN of a stack, as Heat writes it."""
    return f"arn:openstack:heat::{quote(project, '')}:stacks/{quote(name, '')}/{stack_id}"


@dataclass(frozen=True, slots=True)
class Pseudo:
    """The pseudo parameters: `OS::stack_name` and others in HOT, `AWS::StackName` and others in CFN."""

    stack_name: str = ""
    stack_id: str | None = None
    project_id: str = ""
    region: str = "ap-southeast-1"
    dialect: Dialect = HOT_LATEST

    def values(self) -> dict[str, str]:
        if self.dialect.is_hot:
            return {"OS::stack_id": str(self.stack_id), "OS::project_id": self.project_id,
                    "OS::stack_name": self.stack_name}
        return {"AWS::StackId": arn(self.project_id, self.stack_name, str(self.stack_id)),
                "AWS::StackName": self.stack_name, "AWS::Region": self.region}


class Values(Mapping[str, Any]):
    """Typed values by name. Reading one that was not provided, or that is invalid, raises its UserError."""

    __slots__ = ("_errors", "_schemata", "_values", "hidden")

    def __init__(self, values: dict[str, Any], schemata: Mapping[str, ParameterSchema] | None = None,
                 errors: dict[str, UserError] | None = None) -> None:
        self._values = values
        self._schemata = schemata or {}
        self._errors = errors or {}
        self.hidden = frozenset(name for name, schema in self._schemata.items() if schema.hidden)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise self._errors.get(name) or missing(name) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def text(self, name: str, *, reveal: bool = False) -> str:
        """Return the value as `stack show` prints it; a hidden one is masked."""
        if name in self.hidden and not reveal:
            return MASK
        schema = self._schemata.get(name)
        return schema.text(self[name]) if schema else str(self[name])


def bind(schemata: Mapping[str, ParameterSchema], environment: Environment, pseudo: Pseudo, *,
         require_all: bool = True, check_values: bool = True,
         custom: constraints.CustomConstraints = constraints.NO_CUSTOM) -> Values:
    """Return the values of all parameters. Without `require_all`, a missing one fails only when it is read."""
    schemata = _as_hidden(schemata, environment)
    if check_values:
        problems = tuple(check(schemata, environment, require_all=require_all, custom=custom))
        if problems:
            raise UserError(problems=problems)
    values: dict[str, Any] = dict(pseudo.values())
    failures: dict[str, UserError] = {}
    for name, schema in schemata.items():
        given = _given(schema, environment)
        if given is None:
            values.pop(name, None)
            continue
        try:
            values[name] = schema.convert(given)
        except ValueError as exc:
            values.pop(name, None)
            reason = f"{MASK} is not a {schema.type_name}" if schema.hidden else str(exc)
            failures[name] = UserError(f"Parameter '{name}' is invalid: {reason}")
    return Values(values, schemata, failures)


def check(schemata: Mapping[str, ParameterSchema], environment: Environment, *, require_all: bool = True,
          check_values: bool = True,
          custom: constraints.CustomConstraints | None = constraints.NO_CUSTOM) -> Iterator[Problem]:
    """Check for unknown names, then each parameter's schema and value."""
    schemata = _as_hidden(schemata, environment)
    for name in environment.parameters:
        if name not in schemata:
            known = ", ".join(schemata) or "none"
            yield Problem(f"The Parameter ({name}) was not defined in template.", kind="UnknownUserParameter",
                          hint=meant(name, schemata) or f"parameters of the template: {known}")
    for schema in schemata.values():
        problem = _problem_of(schema, environment, require_all, custom if check_values else None, check_values)
        if problem is not None:
            yield problem


def _as_hidden(schemata: Mapping[str, ParameterSchema], environment: Environment) -> Mapping[str, ParameterSchema]:
    """Return the schemata, with those hidden that the environment declares secret."""
    names = environment.encrypted_param_names
    if not names:
        return schemata
    return {name: replace(one, hidden=one.hidden or name in names) for name, one in schemata.items()}


def refuse_immutable(schemata: Mapping[str, ParameterSchema], before: Values, after: Values) -> None:
    """Refuse an update that changes the value of an immutable parameter."""
    changed = [name for name, schema in schemata.items()
               if schema.immutable and name in before and name in after and before[name] != after[name]]
    if changed:
        raise UserError(f"The following parameters are immutable and may not be updated: {', '.join(changed)}",
                        kind="ImmutableParameterModified")


def _problem_of(schema: ParameterSchema, environment: Environment, require_all: bool,
                custom: constraints.CustomConstraints | None, check_values: bool) -> Problem | None:
    for problem in schema.schema_problems():
        return problem
    given = _given(schema, environment)
    if given is None:
        return missing(schema.name).problems[0] if require_all else None
    return schema.value_problem(given, custom) if check_values else None


def _given(schema: ParameterSchema, environment: Environment) -> Any:
    """Return the user's value, else the environment's default, else the template's default. Null counts as absent."""
    for source in (environment.parameters, environment.parameter_defaults):
        given = source.get(schema.name)
        if given is not None:
            return given
    return schema.default


_API_NAMES = {ParameterType.STRING: "String", ParameterType.NUMBER: "Number", ParameterType.JSON: "Json",
              ParameterType.LIST: "CommaDelimitedList", ParameterType.BOOLEAN: "Boolean"}


def describe(schema: ParameterSchema, environment: Environment) -> dict[str, Any]:
    """Return a parameter as the API's validate document shows it."""
    default = environment.parameter_defaults.get(schema.name)
    shown: dict[str, Any] = {
        "Type": _API_NAMES[schema.type], "Description": schema.description or "",
        "NoEcho": "true" if schema.hidden else "false", "Label": schema.label or schema.name}
    optional = {"Default": schema.default if default is None else default,
                "Value": environment.parameters.get(schema.name), "Tags": list(schema.tags) or None}
    shown.update((key, value) for key, value in optional.items() if value is not None)
    for constraint in schema.constraints:
        shown.update(constraint.as_validated())
    texts = [str(constraint.description) for constraint in schema.constraints if constraint.description]
    return {**shown, "ConstraintDescription": " ".join(texts)} if texts else shown
