"""The schema of one parameter: its type, the conversion of given values, and their validation.

Values are given as text or as data (a list as "a,b" or [a, b], JSON as text or a map); functions see typed values only.
The texts of failures are Heat's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from isotherm.errors import Problem, UserError
from isotherm.template.parameters.constraints import Constraint, CustomConstraints, Kind, to_number

MASK = "******"

_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "off", "n", "no"})


class ParameterType(Enum):
    """The five types, under their HOT names."""

    STRING = "string"
    NUMBER = "number"
    LIST = "comma_delimited_list"
    JSON = "json"
    BOOLEAN = "boolean"

    @property
    def kind(self) -> Kind:
        return _KINDS[self]


_KINDS = {
    ParameterType.STRING: Kind.STRING, ParameterType.NUMBER: Kind.NUMBER, ParameterType.LIST: Kind.LIST,
    ParameterType.JSON: Kind.MAP, ParameterType.BOOLEAN: Kind.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class ParameterSchema:
    """The schema of one parameter. `type_name` is the type as written in the template ("Number" in CFN)."""

    name: str
    type: ParameterType
    type_name: str
    default: Any = None
    description: Any = ""
    label: Any = ""
    hidden: bool = False
    immutable: bool = False
    tags: tuple[Any, ...] = ()
    constraints: tuple[Constraint, ...] = ()

    @property
    def has_default(self) -> bool:
        return self.default is not None

    def convert(self, value: Any) -> Any:
        """Return the typed value. Raises ValueError with Heat's text."""
        return _CONVERT[self.type](value)

    def validate_value(self, value: Any, custom: CustomConstraints | None = None) -> None:
        """Raise ValueError with Heat's text if `value` is not allowed."""
        typed = self.convert(value)
        # A boolean is checked as given, so that the text of a failure quotes the user's spelling.
        wrong = self._first_wrong(value if self.type is ParameterType.BOOLEAN else typed, custom)
        if wrong is not None:
            raise ValueError(wrong)

    def schema_problems(self) -> Iterator[Problem]:
        """Yield the problems of the schema that parsing lets pass: constraints that do not fit, a bad default."""
        for constraint in self.constraints:
            if self.type.kind not in constraint.kinds:
                yield self._invalid(f"{constraint.name} constraint invalid for {self.type_name}")
                return
        if self.has_default and (wrong := self._wrong_default()) is not None:
            yield self._invalid(wrong)

    def value_problem(self, value: Any, custom: CustomConstraints | None) -> Problem | None:
        try:
            self.validate_value(value, custom)
        except (ValueError, TypeError) as exc:
            what = self._masked_problem(value, custom) if self.hidden else exc
            return Problem(f"Parameter '{self.name}' is invalid: {what}", hint=self._type_hint(value))
        return None

    def _type_hint(self, value: Any) -> str:
        """Return a hint at the type if the value is not of it: Heat's message may show Python's words."""
        try:
            self.convert(value)
        except (ValueError, TypeError):
            return f"a value of type {self.type_name} is needed"
        return ""

    def _masked_problem(self, value: Any, custom: CustomConstraints | None) -> str:
        """Return the problem of a hidden value, without quoting the value."""
        try:
            typed = self.convert(value)
            failed = next(one for one in self.constraints if one.check(typed, self._coerce, custom) is not None)
        except (ValueError, TypeError, StopIteration):
            return f"{MASK} is not a {self.type_name}"
        return str(failed.description) or f"{MASK} does not fit the constraint {failed.key}"

    def text(self, typed: Any) -> str:
        """Return a typed value as `stack show` prints it."""
        if self.type is ParameterType.LIST:
            return ",".join(typed)
        return json.dumps(typed) if self.type is ParameterType.JSON else str(typed)

    def _wrong_default(self) -> str | None:
        try:
            default = self.default
            if self.type is ParameterType.LIST:
                default = to_list(default, "Default")
            wrong = self._first_wrong(default, None)
        except (ValueError, TypeError) as exc:
            return str(exc) if self.type is ParameterType.LIST else f"Invalid default {self.default} ({exc})"
        return None if wrong is None else f"Invalid default {self.default} ({wrong})"

    def _first_wrong(self, value: Any, custom: CustomConstraints | None) -> str | None:
        for constraint in self.constraints:
            wrong = constraint.check(value, self._coerce, custom)
            if wrong is not None:
                return wrong
        return None

    def _coerce(self, value: Any) -> Any:
        try:
            return self.convert(value)
        except ValueError as exc:
            raise ValueError(f'Value "{value}" is invalid for data type "{self.type_name}".') from exc

    def _invalid(self, message: str) -> Problem:
        return Problem(f"Parameter '{self.name}' is invalid: {message}", kind="InvalidSchemaError")


def missing(name: str) -> UserError:
    return UserError(f"The Parameter ({name}) was not provided.", kind="UserParameterMissing",
                     hint=f"give it a value: --parameter {name}=...")


def to_list(value: Any, what: str = "Value") -> list[str]:
    if isinstance(value, list | tuple):
        return [str(item) for item in value]
    if not isinstance(value, str):
        found = type(value).__name__
        raise ValueError(f"{what} must be a comma-delimited list string: '{found}' object has no attribute 'split'")
    return value.split(",") if value else []


def _to_string(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _to_number(value: Any) -> Any:
    try:
        return to_number(value)
    except TypeError as exc:
        raise ValueError(str(exc)) from exc


def _to_json(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as exc:
        raise ValueError(f"Value must be valid JSON: {exc}") from exc


def _to_boolean(value: Any) -> bool:
    word = str(value).strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    accepted = ", ".join(f"'{known}'" for known in sorted(_TRUE | _FALSE))
    raise ValueError(f"Unrecognized value '{value}', acceptable values are: {accepted}")


_CONVERT = {
    ParameterType.STRING: _to_string, ParameterType.NUMBER: _to_number, ParameterType.LIST: to_list,
    ParameterType.JSON: _to_json, ParameterType.BOOLEAN: _to_boolean,
}
