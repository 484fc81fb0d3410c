"""Converts the properties of a template into the typed values that a resource type sees.

A schema is compiled once per type. Most values have the right type already, so that is tested first; only the others go
through conversion, nested schemas and constraints. Texts and paths of errors are Heat's.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from isotherm.errors import Problem, UserError, meant
from isotherm.resources.schema import Schema
from isotherm.template.parameters import constraints
from isotherm.template.parameters.constraints import CustomConstraints, Kind

LABEL = "Property error"
# The messages beside these hints are Heat's, which shows Python's words.
_INTEGER, _NUMBER = "a whole number is needed, such as 5", "a number is needed, such as 5 or 0.5"


class Invalid(ValueError):
    """A value does not fit; `path` is the path below the property."""

    def __init__(self, message: str, path: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Rules:
    """The checks besides types: unknown names and constraints."""

    names: bool = True
    constraints: bool = True
    custom: CustomConstraints | None = None


# Of values that depend on resources not created yet, only the type can be checked.
LOOSE = Rules(constraints=False)
CONVERT_ONLY = Rules(names=False, constraints=False)


def step(name: str) -> str:
    """Return one step of a path; a numeric name is shown as an index, as in Heat."""
    return f"[{name}]" if name.isdigit() else f".{name}"


def _to_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):  # booleans included
        return str(value)
    raise Invalid(f"Value must be a string; got {value!r}")


def _to_integer(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, OverflowError) as exc:
        raise Invalid(str(exc), hint=_INTEGER) from exc
    except ValueError as exc:
        raise Invalid(f"Value '{value}' is not an integer", hint=_INTEGER) from exc


def _to_number(value: Any) -> Any:
    try:
        return constraints.to_number(value)
    except (TypeError, ValueError) as exc:
        raise Invalid(str(exc), hint=_NUMBER) from exc


def _to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise Invalid(f'"{value}" is not a valid boolean')


def _to_map(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    raise Invalid(f'"{value}" is not a map')


def _to_list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, tuple):
        return list(value)
    raise Invalid(f'"{value!r}" is not a list')


def _map_or_text(value: Any) -> Any:
    """Accept a map or its JSON text, as a json parameter behind a property does."""
    return json.dumps(value) if isinstance(value, list) else value if isinstance(value, str) else _to_map(value)


def _list_or_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.split(",") if value else []
    return _to_list(value)


_CONVERT: dict[Kind, Callable[[Any], Any]] = {
    Kind.STRING: _to_string, Kind.INTEGER: _to_integer, Kind.NUMBER: _to_number, Kind.BOOLEAN: _to_boolean,
    Kind.MAP: _to_map, Kind.LIST: _to_list, Kind.ANY: lambda value: value,
}
_EMPTY: dict[Kind, Any] = {Kind.STRING: "", Kind.INTEGER: 0, Kind.NUMBER: 0, Kind.BOOLEAN: False, Kind.MAP: {},
                           Kind.LIST: [], Kind.ANY: None}
_PLAIN: dict[Kind, frozenset[type]] = {
    Kind.STRING: frozenset({str}), Kind.INTEGER: frozenset({int}), Kind.NUMBER: frozenset({int, float}),
    Kind.BOOLEAN: frozenset({bool}), Kind.MAP: frozenset({dict}), Kind.LIST: frozenset({list}),
    Kind.ANY: frozenset({str, int, float, bool, dict, list}),
}


class Property:
    """One compiled property. Values of the types in `plain` need no conversion."""

    __slots__ = ("_convert", "_item", "_nested", "default", "plain", "required", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.required = schema.required
        self._convert = _converter(schema)
        self._nested = Properties(schema.schema) if isinstance(schema.schema, Mapping) else None
        self._item = Property(schema.schema) if isinstance(schema.schema, Schema) else None
        needs_look = schema.constraints or schema.schema is not None
        self.plain: frozenset[type] = frozenset() if needs_look else _PLAIN[schema.type]
        self.default = None if schema.default is None else self.convert(schema.default, CONVERT_ONLY)

    def convert(self, value: Any, rules: Rules) -> Any:
        """Return the typed value; null stands for the default, or else for the empty value of the type."""
        if type(value) in self.plain:
            return value
        if value is None:
            value = _EMPTY[self.schema.type] if self.schema.default is None else self.schema.default
            if value is None:
                return None
            if isinstance(value, list | dict):
                value = copy.deepcopy(value)
        converted = self._below(self._convert(value), rules)
        if rules.constraints:
            self._check(converted, rules)
        return converted

    def _below(self, value: Any, rules: Rules) -> Any:
        if self._nested is not None and isinstance(value, Mapping):
            return self._nested.convert_or_raise(value, rules)
        if self._item is None:
            return value
        if isinstance(value, Mapping):
            return {key: _within(step(str(key)), self._item, one, rules) for key, one in value.items()}
        return [_within(f"[{index}]", self._item, one, rules) for index, one in enumerate(value)]

    def _check(self, value: Any, rules: Rules) -> None:
        for constraint in self.schema.constraints:
            wrong = constraint.check(value, self._convert, rules.custom)
            if wrong is not None:
                raise Invalid(wrong)


def _converter(schema: Schema) -> Callable[[Any], Any]:
    if schema.allow_conversion and schema.type is Kind.MAP:
        return _map_or_text
    if schema.allow_conversion and schema.type is Kind.LIST:
        return _list_or_text
    return _CONVERT[schema.type]


def _within(place: str, item: Property, value: Any, rules: Rules) -> Any:
    try:
        return item.convert(value, rules)
    except Invalid as exc:
        raise Invalid(str(exc), place + exc.path, exc.hint) from exc


class Properties:
    """A compiled schema of named properties."""

    __slots__ = ("_defaults", "_mutable", "by_name", "required")

    def __init__(self, schema: Mapping[str, Schema]) -> None:
        self.by_name = {name: Property(one) for name, one in schema.items()}
        self.required = frozenset(name for name, one in schema.items() if one.required)
        self._defaults = {name: one.default for name, one in self.by_name.items()}
        self._mutable = [name for name, value in self._defaults.items() if isinstance(value, list | dict)]

    def convert_or_raise(self, data: Mapping[str, Any], rules: Rules = CONVERT_ONLY) -> dict[str, Any]:
        """Return all properties, typed, with defaults. Raises Invalid for the first problem."""
        result = self._filled()
        if self._is_plain(data):
            result.update(data)
            return result
        for wrong in self._wrong(data, rules, frozenset(), result):
            raise wrong
        return result

    def convert_what_fits(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return all properties, typed, defaults filled in; a value that does not fit gives way to an empty one."""
        result = self._filled()
        for name in data.keys() & self.by_name.keys():
            one = self.by_name[name]
            try:
                result[name] = one.convert(data[name], CONVERT_ONLY)
            except Invalid:
                result[name] = copy.deepcopy(_EMPTY[one.schema.type] if one.default is None else one.default)
        return result

    def _filled(self) -> dict[str, Any]:
        result = self._defaults.copy()
        for name in self._mutable:
            result[name] = copy.deepcopy(result[name])
        return result

    def problems(self, data: Mapping[str, Any], path: str, rules: Rules, *,
                 loose: frozenset[str] = frozenset()) -> Iterator[Problem]:
        """Yield all problems: unknown names, then in the order of the schema.

        `loose`: names of which only the type is checked.
        """
        if not self._is_plain(data):
            for wrong in self._wrong(data, rules, loose, {}):
                yield Problem(str(wrong), path + wrong.path, hint=wrong.hint, label=LABEL)

    def _wrong(self, data: Mapping[str, Any], rules: Rules, loose: frozenset[str],
               converted: dict[str, Any]) -> Iterator[Invalid]:
        """Yield each problem; values without one go into `converted`."""
        if rules.names:
            yield from self.unknown(data)
        for name, one in self.by_name.items():
            if name not in data:
                if one.required:
                    yield Invalid(f"Property {name} not assigned")
            elif rules.names and not one.schema.implemented:
                yield Invalid(f"Property {name} not implemented yet")
            elif type(data[name]) in one.plain:
                converted[name] = data[name]
            else:
                try:
                    converted[name] = one.convert(data[name], LOOSE if name in loose else rules)
                except Invalid as exc:
                    yield Invalid(str(exc), step(name) + exc.path, exc.hint)

    def _meant(self, name: object) -> str:
        return meant(name, self.by_name) or f"properties are: {', '.join(self.by_name) or 'none'}"

    def unknown(self, data: Mapping[str, Any]) -> Iterator[Invalid]:
        """Yield a problem for each name that the schema does not have."""
        for name in data:
            if name not in self.by_name:
                yield Invalid(f"Unknown Property {name}", hint=self._meant(name))

    def _is_plain(self, data: Mapping[str, Any]) -> bool:
        by_name = self.by_name
        for name, value in data.items():
            if name not in by_name or type(value) not in by_name[name].plain:
                return False
        return self.required <= data.keys()


# Keyed by identity: a type's schema is one constant map, kept alive here. Bounded by the number of types.
_COMPILED: dict[int, tuple[Mapping[str, Schema], Properties]] = {}


def compiled(schema: Mapping[str, Schema]) -> Properties:
    """Return the compiled form of a type's schema; it is made once."""
    found = _COMPILED.get(id(schema))
    if found is None:
        found = _COMPILED[id(schema)] = (schema, Properties(schema))
    return found[1]


def convert(schema: Mapping[str, Schema], data: Mapping[str, Any], *, path: str = "", rules: Rules = CONVERT_ONLY,
            partial: bool = False) -> dict[str, Any]:
    """Return all properties, typed, with defaults; raises UserError with Heat's text. `partial`: only those given."""
    if partial:
        schema = {name: one for name, one in schema.items() if name in data}
        return _located(Properties(schema), data, path, rules)
    return _located(compiled(schema), data, path, rules)


def _located(known: Properties, data: Mapping[str, Any], path: str, rules: Rules) -> dict[str, Any]:
    try:
        return known.convert_or_raise(data, rules)
    except Invalid as exc:
        problem = Problem(str(exc), (path + exc.path).lstrip("."), hint=exc.hint, label=LABEL)
        raise UserError(problems=(problem,)) from exc


def scalar(schema: Schema, value: Any) -> Any:
    """Return the value converted to the schema's type, without nested schemas; None stays None. Raises Invalid."""
    return None if value is None else _converter(schema)(value)


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Return the names whose typed values differ."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
