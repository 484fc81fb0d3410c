"""Parses the parameters section of a template.

HOT lists constraints under one key, CFN spreads them over the parameter; both become the same `ParameterSchema`. Errors
here do not depend on the values, and are reported before all others (InvalidSchemaError).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isotherm.errors import UserError
from isotherm.template.parameters import constraints
from isotherm.template.parameters.constraints import schema_error
from isotherm.template.parameters.schema import ParameterSchema, ParameterType
from isotherm.template.versions import Dialect

_HOT_KEYS = frozenset({"type", "description", "default", "schema", "constraints", "hidden", "label", "immutable"})
_CFN_TYPES = {"String": ParameterType.STRING, "Number": ParameterType.NUMBER, "Json": ParameterType.JSON,
              "CommaDelimitedList": ParameterType.LIST, "Boolean": ParameterType.BOOLEAN}
_HOT_TYPES = {kind.value: kind for kind in ParameterType}
_CFN_KEYS = frozenset({"Type", "Default", "NoEcho", "AllowedValues", "AllowedPattern", "MaxLength", "MinLength",
                       "MaxValue", "MinValue", "Description", "ConstraintDescription", "Label"})
_HOT_CONSTRAINT_KEYS = frozenset(
    {"description", "length", "range", "modulo", "allowed_values", "allowed_pattern", "custom_constraint"})

_Bounded = type[constraints.Range] | type[constraints.Length]


def parse_schemata(section: object, dialect: Dialect) -> dict[str, ParameterSchema]:
    """Parse the parameters section. Raises UserError of kind InvalidSchemaError."""
    if not section:
        return {}
    if not isinstance(section, Mapping):
        raise schema_error(f"The {dialect.words.parameters} section must be a map, not a {type(section).__name__}")
    parse = _parse_hot if dialect.is_hot else _parse_cfn
    return {str(name): parse(str(name), given, dialect) for name, given in section.items()}


def _mapping(name: str, given: object, keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise schema_error(f"Invalid parameter ({name}), expected a mapping")
    for key in given:
        if key not in keys:
            raise schema_error(f"Invalid key '{key}' for parameter ({name})")
    return given


def _require_type(name: str, given: Mapping[str, Any], key: str) -> None:
    if key not in given:
        raise schema_error(f"Missing parameter type for parameter: {name}")


def _type(written: Any, known: Mapping[str, ParameterType]) -> ParameterType:
    """Return the type. It is checked after the constraints, as in Heat."""
    if not isinstance(written, str) or written not in known:
        raise UserError(f"Invalid type ({written})", kind="InvalidSchemaError", hint=f"one of {', '.join(known)}")
    return known[written]


def _parse_hot(name: str, given: object, dialect: Dialect) -> ParameterSchema:
    keys = _HOT_KEYS | {"tags"} if dialect.parameter_tags else _HOT_KEYS
    schema = _mapping(name, given, keys)
    _require_type(name, schema, "type")
    tags = schema.get("tags", [])
    if not isinstance(tags, list):
        raise schema_error(f"Tags property should be a list for parameter: {name}")
    listed = [] if schema.get("constraints") is None else schema["constraints"]
    if not isinstance(listed, list):
        raise schema_error(f"Invalid parameter constraints for parameter {name}, expected a list")
    checks = tuple(_hot_constraint(one, dialect) for one in listed)
    found = _type(schema["type"], _HOT_TYPES)
    return ParameterSchema(
        name, found, found.value, default=schema.get("default"), description=schema.get("description", ""),
        label=schema.get("label", ""), hidden=bool(schema.get("hidden")), immutable=bool(schema.get("immutable")),
        tags=tuple(tags), constraints=checks)


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
    _require_type(name, schema, "Type")
    checks = tuple(_cfn_constraints(schema))
    found = _type(schema["Type"], _CFN_TYPES)
    return ParameterSchema(
        name, found, schema["Type"], default=schema.get("Default"), description=schema.get("Description", ""),
        label=schema.get("Label", ""), hidden=str(schema.get("NoEcho", "false")).lower() == "true",
        constraints=checks)


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
