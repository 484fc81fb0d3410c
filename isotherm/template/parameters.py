"""Parameters: from the section of a template and an environment to the values that functions read.

`parse_schemata` reads the section (what it finds wrong is wrong whatever the values are), `check` judges the schemata
and the values given, `bind` makes the `Values`. They are apart because Heat reads resource definitions between the two:
a template with several mistakes names the same one first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from isotherm.errors import Problem, UserError
from isotherm.template import constraints
from isotherm.template.constraints import schema_error
from isotherm.template.environment import Environment
from isotherm.template.parameter_schema import MASK, ParameterSchema, ParameterType, missing
from isotherm.template.versions import HOT_LATEST, Dialect

_HOT_KEYS = frozenset({"type", "description", "default", "schema", "constraints", "hidden", "label", "immutable"})
_CFN_TYPES = {"String": ParameterType.STRING, "Number": ParameterType.NUMBER, "Json": ParameterType.JSON,
              "CommaDelimitedList": ParameterType.LIST, "Boolean": ParameterType.BOOLEAN}
_HOT_TYPES = {kind.value: kind for kind in ParameterType}
_CFN_KEYS = frozenset({"Type", "Default", "NoEcho", "AllowedValues", "AllowedPattern", "MaxLength", "MinLength",
                       "MaxValue", "MinValue", "Description", "ConstraintDescription", "Label"})
_HOT_CONSTRAINT_KEYS = frozenset(
    {"description", "length", "range", "modulo", "allowed_values", "allowed_pattern", "custom_constraint"})

_Bounded = type[constraints.Range] | type[constraints.Length]


@dataclass(frozen=True, slots=True)
class Pseudo:
    """The stack itself, as templates may ask for it: `OS::stack_name` in HOT, `AWS::StackName` in CFN."""

    stack_name: str = ""
    stack_id: str | None = None
    project_id: str = ""
    region: str = "ap-southeast-1"
    dialect: Dialect = HOT_LATEST

    def values(self) -> dict[str, str]:
        if self.dialect.is_hot:
            return {"OS::stack_id": str(self.stack_id), "OS::project_id": self.project_id,
                    "OS::stack_name": self.stack_name}
        arn = f"arn:openstack:heat::{self.project_id}:stacks/{self.stack_name}/{self.stack_id}"
        return {"AWS::StackId": arn, "AWS::StackName": self.stack_name, "AWS::Region": self.region}


class Values(Mapping[str, Any]):
    """Typed values by name. Asking for one that was not provided, or cannot be read, raises its UserError."""

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
        """The value as `stack show` prints it; a hidden one is masked."""
        if name in self.hidden and not reveal:
            return MASK
        schema = self._schemata.get(name)
        return schema.text(self[name]) if schema else str(self[name])


def parse_schemata(section: object, dialect: Dialect) -> dict[str, ParameterSchema]:
    """The parameters section; raises UserError of kind InvalidSchemaError."""
    if not section:
        return {}
    if not isinstance(section, Mapping):
        raise schema_error(f"The {dialect.words.parameters} section must be a map, not a {type(section).__name__}")
    parse = _parse_hot if dialect.is_hot else _parse_cfn
    return {name: parse(name, given, dialect) for name, given in section.items()}


def bind(schemata: Mapping[str, ParameterSchema], environment: Environment, pseudo: Pseudo, *,
         require_all: bool = True, check_values: bool = True,
         custom: constraints.CustomConstraints = constraints.NO_CUSTOM) -> Values:
    """The values of all parameters. Without `require_all` a missing one fails only when it is asked for."""
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
            failures[name] = UserError(f"Parameter '{name}' is invalid: {exc}")
    return Values(values, schemata, failures)


def check(schemata: Mapping[str, ParameterSchema], environment: Environment, *, require_all: bool = True,
          check_values: bool = True,
          custom: constraints.CustomConstraints | None = constraints.NO_CUSTOM) -> Iterator[Problem]:
    """What is wrong: names that no parameter has, then each parameter's schema and value."""
    for name in environment.parameters:
        if name not in schemata:
            known = ", ".join(schemata) or "none"
            yield Problem(f"The Parameter ({name}) was not defined in template.", kind="UnknownUserParameter",
                          hint=f"parameters of the template: {known}")
    for schema in schemata.values():
        problem = _problem_of(schema, environment, require_all, custom if check_values else None, check_values)
        if problem is not None:
            yield problem


def refuse_immutable(schemata: Mapping[str, ParameterSchema], before: Values, after: Values) -> None:
    """On update: parameters marked immutable must keep the value they had."""
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
    """By precedence: what the user gave, the environment's default, the template's default. Null is absent."""
    for source in (environment.parameters, environment.parameter_defaults):
        given = source.get(schema.name)
        if given is not None:
            return given
    return schema.default


def _mapping(name: str, given: object, keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise schema_error(f"Invalid parameter ({name}), expected a mapping")
    for key in given:
        if key not in keys:
            raise schema_error(f"Invalid key '{key}' for parameter ({name})")
    return given


def _type(name: str, given: Mapping[str, Any], key: str, known: Mapping[str, ParameterType]) -> ParameterType:
    if key not in given:
        raise schema_error(f"Missing parameter type for parameter: {name}")
    written = given[key]
    if not isinstance(written, str) or written not in known:
        raise UserError(f"Invalid type ({written})", kind="InvalidSchemaError", hint=f"one of {', '.join(known)}")
    return known[written]


def _parse_hot(name: str, given: object, dialect: Dialect) -> ParameterSchema:
    keys = _HOT_KEYS | {"tags"} if dialect.parameter_tags else _HOT_KEYS
    schema = _mapping(name, given, keys)
    found = _type(name, schema, "type", _HOT_TYPES)
    tags = schema.get("tags", [])
    if not isinstance(tags, list):
        raise schema_error(f"Tags property should be a list for parameter: {name}")
    listed = schema.get("constraints") or []
    if not isinstance(listed, list):
        raise schema_error(f"Invalid parameter constraints for parameter {name}, expected a list")
    return ParameterSchema(
        name, found, found.value, default=schema.get("default"), description=schema.get("description", ""),
        label=schema.get("label", ""), hidden=_flag(schema.get("hidden")), immutable=_flag(schema.get("immutable")),
        tags=tuple(tags), constraints=tuple(_hot_constraint(one, dialect) for one in listed))


def _flag(value: Any) -> bool:
    # Heat takes any word that is not plainly "no" for yes: a secret is rather masked once too often.
    if isinstance(value, str):
        return value.strip().lower() not in ("false", "no", "off", "0", "f", "n", "")
    return bool(value)


def _hot_constraint(given: object, dialect: Dialect) -> constraints.Constraint:
    if not isinstance(given, Mapping):
        raise schema_error("Invalid parameter constraints, expected a mapping")
    for key in given:
        if key not in _HOT_CONSTRAINT_KEYS:
            raise schema_error(f"Invalid key '{key}' for parameter constraints")
    text = given.get("description") or ""
    if "modulo" in given and dialect.modulo_constraint:
        facts = _facts(given["modulo"], "modulo", ("step", "offset"))
        return constraints.Modulo(text, _number(facts.get("step")), _number(facts.get("offset")))
    if "range" in given:
        return _bounded(constraints.Range, text, given["range"])
    if "length" in given:
        return _bounded(constraints.Length, text, given["length"])
    if "allowed_values" in given:
        return constraints.AllowedValues(text, given["allowed_values"])
    if "allowed_pattern" in given:
        return constraints.AllowedPattern(text, given["allowed_pattern"])
    if "custom_constraint" in given:
        return constraints.CustomConstraint(text, given["custom_constraint"])
    raise schema_error("No constraint expressed")


def _bounded(kind: _Bounded, text: str, given: object) -> constraints.Constraint:
    facts = _facts(given, kind.key, ("min", "max"))
    return _with_bounds(kind, text, facts.get("min"), facts.get("max"))


def _with_bounds(kind: _Bounded, text: str, low: Any, high: Any) -> constraints.Constraint:
    if low is None and high is None:
        raise schema_error(f"A {kind.key} constraint must have a min value and/or a max value specified.")
    return kind(text, _number(low), _number(high))


def _facts(given: object, what: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise schema_error(f"Invalid {what} constraint, expected a mapping")
    for key in given:
        if key not in keys:
            raise schema_error(f"Invalid key '{key}' for {what} constraint")
    return given


def _number(value: Any) -> Any:
    try:
        return None if value is None else constraints.to_number(value)
    except (ValueError, TypeError) as exc:
        raise schema_error(str(exc)) from exc


def _parse_cfn(name: str, given: object, dialect: Dialect) -> ParameterSchema:
    schema = _mapping(name, given, _CFN_KEYS)
    found = _type(name, schema, "Type", _CFN_TYPES)
    return ParameterSchema(
        name, found, schema["Type"], default=schema.get("Default"), description=schema.get("Description", ""),
        label=schema.get("Label", ""), hidden=str(schema.get("NoEcho", "false")).lower() == "true",
        constraints=tuple(_cfn_constraints(schema)))


def _cfn_constraints(schema: Mapping[str, Any]) -> Iterator[constraints.Constraint]:
    text = schema.get("ConstraintDescription") or ""
    if "MinValue" in schema or "MaxValue" in schema:
        yield _with_bounds(constraints.Range, text, schema.get("MinValue"), schema.get("MaxValue"))
    if "MinLength" in schema or "MaxLength" in schema:
        yield _with_bounds(constraints.Length, text, schema.get("MinLength"), schema.get("MaxLength"))
    if "AllowedValues" in schema:
        yield constraints.AllowedValues(text, schema["AllowedValues"])
    if "AllowedPattern" in schema:
        yield constraints.AllowedPattern(text, schema["AllowedPattern"])
