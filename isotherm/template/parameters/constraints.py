"""Constraints on values: one set for template parameters and for the properties of resource types.

A constraint names the kinds of value that it applies to, and checks one value: it returns the text of the problem, in
Heat's words, or None. Custom constraints (does this flavor exist?) need a cloud: they are called through the
`CustomConstraints` port, so that this module stays pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol

from isotherm.errors import UserError
from isotherm.template.patterns import match


class Kind(StrEnum):
    """The kind of value of a parameter or property, under the names that property schemas show."""

    STRING = "String"
    INTEGER = "Integer"
    NUMBER = "Number"
    BOOLEAN = "Boolean"
    MAP = "Map"
    LIST = "List"
    ANY = "Any"


Coerce = Callable[[Any], Any]
Validator = Callable[[object], str | None]


class CustomConstraints(Protocol):
    """The port of custom constraints. A validator returns the problem, or None; "" is a problem without a text."""

    def find(self, name: str) -> Validator | None: ...


@dataclass(frozen=True, slots=True)
class KnownConstraints:
    """Custom constraints in a table."""

    validators: Mapping[str, Validator] = field(default_factory=dict)

    def find(self, name: str) -> Validator | None:
        return self.validators.get(name)


NO_CUSTOM = KnownConstraints()


def schema_error(message: str) -> UserError:
    return UserError(message, kind="InvalidSchemaError")


def to_number(value: Any) -> Any:
    """Return an int if the value reads as one, else a float. Raises Python's own error otherwise."""
    if isinstance(value, int | float):
        return value
    try:
        return int(value)
    except ValueError:
        return float(value)


_API_WORDS = {
    ("range", "min"): "MinValue", ("range", "max"): "MaxValue", ("length", "min"): "MinLength",
    ("length", "max"): "MaxLength", ("modulo", "step"): "Step", ("modulo", "offset"): "Offset",
    ("allowed_values", ""): "AllowedValues", ("allowed_pattern", ""): "AllowedPattern",
    ("custom_constraint", ""): "CustomConstraint",
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """Base of all constraints; `description` replaces the text of a failure."""

    description: str = ""
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    name: ClassVar[str] = ""
    key: ClassVar[str] = ""

    def check(self, value: Any, coerce: Coerce, custom: CustomConstraints | None = None) -> str | None:
        """Return the problem of `value`, or None. Without `custom`, custom constraints are not checked."""
        wrong = self._wrong(value, coerce, custom)
        return (str(self.description) or wrong) if wrong is not None else None

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        raise NotImplementedError

    def facts(self) -> object:
        """Return the constraint as the API shows it, under `key`."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, object]:
        shown: dict[str, object] = {self.key: self.facts()}
        return {**shown, "description": self.description} if self.description else shown

    def as_validated(self) -> dict[str, object]:
        """Return the constraint as the API's validate document shows it: in CFN's flat form."""
        facts = self.facts()
        if isinstance(facts, dict):
            return {_API_WORDS[self.key, name]: fact for name, fact in facts.items()}
        return {_API_WORDS[self.key, ""]: facts}


@dataclass(frozen=True, slots=True)
class _Bounded(Constraint):
    minimum: Any = None
    maximum: Any = None

    def __post_init__(self) -> None:
        for bound in (self.minimum, self.maximum):
            if bound is not None and not isinstance(bound, int | float):
                raise schema_error("min/max must be numeric")

    def facts(self) -> object:
        bounds = {"min": self.minimum, "max": self.maximum}
        return {key: bound for key, bound in bounds.items() if bound is not None}

    def _holds(self, number: Any) -> bool:
        if self.minimum is not None and number < self.minimum:
            return False
        return self.maximum is None or bool(number <= self.maximum)


@dataclass(frozen=True, slots=True)
class Range(_Bounded):
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.INTEGER, Kind.NUMBER})
    name: ClassVar[str] = "Range"
    key: ClassVar[str] = "range"

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        value = to_number(value)
        if self._holds(value):
            return None
        return f"{value} is out of range (min: {self.minimum}, max: {self.maximum})"


@dataclass(frozen=True, slots=True)
class Length(_Bounded):
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRING, Kind.LIST, Kind.MAP})
    name: ClassVar[str] = "Length"
    key: ClassVar[str] = "length"

    def __post_init__(self) -> None:
        for bound in (self.minimum, self.maximum):
            if bound is not None and not isinstance(bound, int):
                raise schema_error("min/max length must be integral")

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        length = len(value)
        if self._holds(length):
            return None
        return f"length ({length}) is out of range (min: {self.minimum}, max: {self.maximum})"


@dataclass(frozen=True, slots=True)
class Modulo(Constraint):
    step: Any = None
    offset: Any = None
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.INTEGER, Kind.NUMBER})
    name: ClassVar[str] = "Modulo"
    key: ClassVar[str] = "modulo"

    def __post_init__(self) -> None:
        if self.step is None or self.offset is None:
            raise schema_error("A modulo constraint must have a step value and an offset value specified.")
        if not isinstance(self.step, int) or not isinstance(self.offset, int):
            raise schema_error("step/offset must be integer")
        if self.step == 0:
            raise schema_error("step cannot be 0.")
        if abs(self.offset) >= abs(self.step):
            raise schema_error("offset must be smaller (by absolute value) than step.")
        if self.step * self.offset < 0:
            raise schema_error("step and offset must be both positive or both negative.")

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        value = to_number(value)
        if value % self.step == self.offset:
            return None
        return f"{value} is not a multiple of {self.step} with an offset of {self.offset}"

    def facts(self) -> object:
        return {"step": self.step, "offset": self.offset}


@dataclass(frozen=True, slots=True)
class AllowedValues(Constraint):
    allowed: Sequence[Any] = ()
    kinds: ClassVar[frozenset[Kind]] = frozenset(
        {Kind.STRING, Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.LIST})
    name: ClassVar[str] = "AllowedValues"
    key: ClassVar[str] = "allowed_values"

    def __post_init__(self) -> None:
        if isinstance(self.allowed, str) or not isinstance(self.allowed, Sequence):
            raise schema_error("AllowedValues must be a list")

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        if isinstance(value, list):
            fits = all(item in self.allowed for item in value)
        else:
            fits = coerce(value) in [coerce(one) for one in self.allowed]
        return None if fits else f"{json.dumps(value)} is not an allowed value {json.dumps(list(self.allowed))}"

    def facts(self) -> object:
        return list(self.allowed)


@dataclass(frozen=True, slots=True)
class AllowedPattern(Constraint):
    pattern: str = ""
    _compiled: match.Pattern | None = field(default=None, init=False, compare=False, repr=False)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.STRING})
    name: ClassVar[str] = "AllowedPattern"
    key: ClassVar[str] = "allowed_pattern"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise schema_error("AllowedPattern must be a string")
        try:
            object.__setattr__(self, "_compiled", match.Pattern(self.pattern))
        except match.BadPattern as exc:
            raise schema_error(f'Invalid pattern "{self.pattern}": {exc}') from exc

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        assert self._compiled is not None
        if not isinstance(value, str):
            raise ValueError(f"expected string or bytes-like object, got '{type(value).__name__}'")
        try:
            matches = self._compiled.fullmatch(value)
        except match.TooComplex as exc:
            return str(exc)
        return None if matches else f'"{value}" does not match pattern "{self.pattern}"'

    def facts(self) -> object:
        return self.pattern


@dataclass(frozen=True, slots=True)
class CustomConstraint(Constraint):
    constraint: str = ""
    kinds: ClassVar[frozenset[Kind]] = AllowedValues.kinds
    name: ClassVar[str] = "CustomConstraint"
    key: ClassVar[str] = "custom_constraint"

    def _wrong(self, value: Any, coerce: Coerce, custom: CustomConstraints | None) -> str | None:
        if custom is None:
            return None
        validator = custom.find(str(self.constraint))
        if validator is None:
            return f'"{value}" does not validate {self.constraint} (constraint not found)'
        wrong = validator(value)
        if wrong is None:
            return None
        return f"Error validating value '{value}': {wrong}" if wrong else f"Error validating value '{value}'"

    def facts(self) -> object:
        return self.constraint
