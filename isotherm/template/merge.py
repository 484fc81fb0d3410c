"""Merges several environments into one.

Later ones win, except for parameters with a merge strategy: their values are joined. The first strategy of a parameter is
kept; a later file that names another one is refused, a later default strategy is ignored. Only parameters of the given
templates are joined; other names are kept only where no earlier file has parameters (Heat drops them likewise, and so
does not report them as unknown).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from isotherm.errors import UserError
from isotherm.template import versions
from isotherm.template.environment import Environment, Registry
from isotherm.template.parameters import parse
from isotherm.template.parameters.schema import ParameterSchema, ParameterType
from isotherm.template.text import document

OVERWRITE, MERGE, DEEP_MERGE = "overwrite", "merge", "deep_merge"
STRATEGIES = (OVERWRITE, MERGE, DEEP_MERGE)


def merge(environments: Iterable[Environment], known: Mapping[str, ParameterSchema],
          names: Iterable[str] = ()) -> Environment:
    """Merge the environments; the first is that of the request itself. `names` are shown in errors."""
    given = list(environments)
    if not given:
        return Environment()
    shown = list(names) or [str(index) for index in range(len(given))]
    chosen: dict[str, str] = {}
    result = given[0]
    if result.parameter_merge_strategies:
        _choose(result, result.parameters, known, chosen, shown[0])
    for environment, name in zip(given[1:], shown[1:], strict=False):
        result = _join(result, environment, known, chosen, name)
    return result


def known_parameters(own: Mapping[str, ParameterSchema], files: Mapping[str, str]) -> dict[str, ParameterSchema]:
    """Return the parameters of a template and of all templates among its files: those that a merge may join.

    A file that is no template is ignored; a template with a bad parameter raises (InvalidSchemaError).
    """
    known: dict[str, ParameterSchema] = {}
    for name, text in files.items():
        if not any(key in text for key in versions.VERSION_KEYS):
            continue
        try:
            data = document.load(text, source=name).data
            dialect = versions.detect(data)
        except (UserError, AttributeError):
            continue
        known.update(parse.parse_schemata(data.get(dialect.words.parameters), dialect))
    return {**known, **own}


def _join(old: Environment, new: Environment, known: Mapping[str, ParameterSchema], chosen: dict[str, str],
          file: str) -> Environment:
    return replace(
        new,
        parameters=_join_parameters(old.parameters, new, new.parameters, known, chosen, file),
        parameter_defaults=_join_parameters(
            old.parameter_defaults, new, new.parameter_defaults, known, chosen, file),
        registry=Registry({**old.registry.data, **new.registry.data}),
        event_sinks=old.event_sinks + new.event_sinks,
        encrypted_param_names=old.encrypted_param_names + new.encrypted_param_names,
        moved={**old.moved, **new.moved})


def _join_parameters(old: Mapping[str, Any], environment: Environment,
                     new: Mapping[str, Any], known: Mapping[str, ParameterSchema], chosen: dict[str, str],
                     file: str) -> Mapping[str, Any]:
    if not new:
        return old
    _choose(environment, new, known, chosen, file)
    if not old:
        return new
    result = dict(old)
    for name, value in new.items():
        if value is None or name not in known:
            continue
        result[name] = value if name not in result else _join_value(known[name], result[name], value, chosen[name])
    return result


def _choose(environment: Environment, new: Mapping[str, Any], known: Mapping[str, ParameterSchema],
            chosen: dict[str, str], file: str) -> None:
    """Record the strategy of each parameter in this file, unless it has one."""
    asked = environment.parameter_merge_strategies
    default = asked.get("default")
    default = default if default in STRATEGIES else OVERWRITE
    for name, value in new.items():
        if value is None or name not in known:
            continue
        strategy = asked[name] if name in asked and asked[name] in STRATEGIES else default
        if name in chosen and name in asked and chosen[name] != strategy:
            raise UserError(f"Conflicting merge strategy '{strategy}' for parameter '{name}' in file '{file}'.",
                            kind="ConflictingMergeStrategyForParam")
        chosen.setdefault(name, strategy)


def _join_value(schema: ParameterSchema, old: Any, new: Any, strategy: str) -> Any:
    if strategy == OVERWRITE or old is None:
        return new
    if schema.type is ParameterType.BOOLEAN:
        raise UserError(f"Invalid merge strategy '{strategy}' for parameter '{schema.name}'.",
                        kind="InvalidMergeStrategyForParam")
    if schema.type is ParameterType.LIST:
        return _join_list(schema, old, new)
    if schema.type is ParameterType.JSON:
        return _join_json(schema, old, new, deep=strategy == DEEP_MERGE)
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    raise _cannot(schema)


def _join_list(schema: ParameterSchema, old: Any, new: Any) -> Any:
    if isinstance(old, str) and isinstance(new, str):
        return f"{old},{new}"
    try:
        return [*schema.convert(old), *schema.convert(new)]
    except ValueError as exc:
        raise _cannot(schema) from exc


def _join_json(schema: ParameterSchema, old: Any, new: Any, *, deep: bool) -> Any:
    try:
        old, new = schema.convert(old), schema.convert(new)
    except (ValueError, json.JSONDecodeError) as exc:
        raise _cannot(schema) from exc
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        raise _cannot(schema)
    return _joined_maps(schema, old, new) if deep else {**old, **_present(new)}


def _joined_maps(schema: ParameterSchema, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(old)
    for key, value in _present(new).items():
        before = result.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            result[key] = _joined_maps(schema, before, value)
        elif isinstance(value, list) and isinstance(before, list):
            result[key] = [*before, *value]
        elif isinstance(value, str) and key in result:
            if not isinstance(before, str):
                raise _cannot(schema)
            result[key] = before + value
        else:
            result[key] = value
    return result


def _present(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _cannot(schema: ParameterSchema) -> UserError:
    return UserError(f"Invalid parameter in environment {schema.name}.", kind="ValueError",
                     hint="both values must be of the same kind to be merged; numbers cannot be")
