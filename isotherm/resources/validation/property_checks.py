"""Checks the properties of resources before anything exists.

Functions are resolved as far as possible; of values that depend on resources, only the type is checked. The type's own
checks run if its schema finds no problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from isotherm.errors import Problem, UserError
from isotherm.resources import contract, properties, translation
from isotherm.template.functions import node
from isotherm.template.functions.references import GetAttr
from isotherm.template.model import definitions, model
from isotherm.template.model.definitions import Definition
from isotherm.template.parameters.schema import MASK

Type = type[contract.Resource]

_NOT_ASSIGNED = re.compile("Property (.*) not assigned")
_MISSING = re.compile("not (assigned|provided)")


class PropertyChecker:
    """Checks the properties of the resources of one stack. Not `strict`: only their names are checked.

    `within`: the stack is nested. Its values are not checked, but the types' own validation runs.
    """

    def __init__(self, bound: model.Bound, rules: properties.Rules, *, strict: bool, within: bool) -> None:
        self._bound = bound
        self._rules = rules
        self._strict = strict
        self._within = within
        self._unborn = definitions.Unresolved(bound.values)

    def problems(self, definition: Definition, one: Type) -> Iterator[Problem]:
        raw = definition.properties
        path = path_to(definition, definition.path[1])
        if raw is not None and not isinstance(raw, Mapping | node.Function):
            yield Problem(f"Resource {definition.name} {definition.path[1]} type must be object")
            return
        if not isinstance(raw, node.Live) and _is_simple(one):
            if raw is not None or one.properties_schema:
                known = properties.compiled(one.properties_schema)
                yield from self._written(definition, self._judged(known, raw or {}, path, frozenset()))
            return
        if isinstance(raw, node.Function):
            yield from self._whole(raw, one, path)
            return
        yield from self._written(definition, self._resolved(raw or {}, one, path))

    def _written(self, definition: Definition, problems: Iterator[Problem]) -> Iterator[Problem]:
        """Return the problem of a required property that an `if` removes, at the place where it is written."""
        for problem in problems:
            missing = _NOT_ASSIGNED.fullmatch(problem.message)
            written = self._bound.template.resources[definition.name].get(definition.path[1])
            if missing and problem.path == path_to(definition, definition.path[1]) and missing[1] in (written or ()):
                problem = replace(problem, path=problem.path + properties.step(missing[1]))
            yield problem

    def _whole(self, raw: node.Function, one: Type, path: str) -> Iterator[Problem]:
        """Check properties that are one function, if its value is known."""
        try:
            given = definitions.resolve_value(raw, self._unborn)
        except UserError as error:
            yield _property_error(error, path)
            return
        if isinstance(given, Mapping):
            found = self._resolved(given, one, path)
            yield from _without_values(found, (path,)) if self._is_secret(raw) else found

    def _resolved(self, raw: Mapping[str, Any], one: Type, path: str) -> Iterator[Problem]:
        """Resolve functions as far as possible; those that fail become problems of their property."""
        data: dict[str, Any] = {}
        loose: set[str] = set()
        failed: dict[str, Problem] = {}
        for name, value in raw.items():
            if not isinstance(value, node.Live):
                data[name] = value
                continue
            try:
                found = self._tentative(value)
                if found is not node.NOTHING:
                    data[name] = found
            except UserError as error:
                data[name] = None
                failed[name] = _property_error(error, path + properties.step(name))
            if _hangs_on_resources(value):
                loose.add(name)
        found = self._typed(data, one, path, frozenset(loose), failed)
        secret = tuple(path + properties.step(name) for name, value in raw.items() if self._is_secret(value))
        yield from _without_values(found, secret)

    def _is_secret(self, value: Any) -> bool:
        return isinstance(value, node.Live) and _reads(value, self._bound.values.hidden)

    def _tentative(self, value: Any) -> Any:
        if isinstance(value, GetAttr) and not isinstance(value.args, node.Live):
            return None
        return definitions.resolve_value(value, self._unborn)

    def _typed(self, data: Mapping[str, Any], one: Type, path: str, loose: frozenset[str],
               failed: Mapping[str, Problem]) -> Iterator[Problem]:
        if one.translation_rules:
            try:
                data = translation.translate(one.translation_rules, data)
            except UserError as error:
                yield _property_error(error, path)
                return
            loose |= _renamed(one.translation_rules, loose)
        known = properties.compiled(one.schema_for(data))
        wrong = False
        for problem in self._judged(known, data, path, loose | failed.keys(), failed):
            wrong = True
            yield problem
        if (self._strict or (self._within and not failed)) and not wrong and not _is_simple(one):
            try:
                typed = known.convert_or_raise(data)
            except properties.Invalid as error:
                # In nested stacks values are not validated, but as in Heat a check that reads a wrong one fails.
                yield Problem(str(error), path.rpartition(".")[0], kind="ValueError")
                return
            for message in (*one.validate_properties(typed), *one.validate_in_stack(typed, self._bound.definitions)):
                yield Problem(message)
            for message in self._joint(one, {name: value for name, value in typed.items() if name not in loose}):
                yield Problem(message, path.rpartition(".")[0])

    def _joint(self, one: Type, typed: Mapping[str, Any]) -> Iterator[str]:
        """Yield the problems with values that depend on each other, where all of them are known."""
        for constraint, names in one.joint_constraints.items() if self._strict and self._rules.custom else ():
            values = tuple(typed.get(name) for name in names)
            validator = self._rules.custom.find(constraint) if self._rules.custom and all(values) else None
            problem = validator(values) if validator else None
            if problem is not None:
                yield problem

    def _judged(self, known: properties.Properties, data: Mapping[str, Any], path: str, loose: frozenset[str],
                failed: Mapping[str, Problem] | None = None) -> Iterator[Problem]:
        if not self._strict:
            for wrong in known.unknown(data):
                yield Problem(str(wrong), path, hint=wrong.hint, label=properties.LABEL)
            return
        found = list(known.problems(data, path, self._rules, loose=loose))
        if not failed:
            yield from found
            return
        # Unknown names come first; unresolved properties follow in the order of the schema.
        unknown = [problem for problem in found if problem.message.startswith("Unknown Property")]
        yield from unknown
        order = {path + properties.step(name): index for index, name in enumerate(known.by_name)}
        unresolved = [failed[name] for name in failed if name in known.by_name]
        rest = [problem for problem in found if problem not in unknown] + unresolved
        yield from sorted(rest, key=lambda problem: order.get(problem.path, len(order)))

    def foreseen(self, definition: Definition, one: Type) -> Mapping[str, Any]:
        """Return the properties as far as they are known before anything exists.

        A value that is unknown or does not fit becomes the empty value of its type, as in Heat. If translation fails,
        there are no properties.
        """
        if one.traits.accepts_anything:
            return {}
        found = {}
        for name, value in self._given(definition.properties).items():
            known = self._known(value)
            if known is not node.NOTHING:
                found[name] = known
        try:
            data = translation.translate(one.translation_rules, found) if one.translation_rules else found
            return properties.compiled(one.schema_for(data)).convert_what_fits(data)
        except UserError:
            return {}

    def _given(self, raw: Any) -> Mapping[str, Any]:
        found = self._known(raw) if isinstance(raw, node.Function) else raw
        return found if isinstance(found, Mapping) else {}

    def _known(self, value: Any) -> Any:
        try:
            return self._tentative(value) if isinstance(value, node.Live) else value
        except UserError:
            return None


def path_to(definition: Definition, word: str) -> str:
    return f"{definition.path[0]}{properties.step(definition.name)}.{word}"


def _is_simple(one: Type) -> bool:
    """Return whether only the schema checks the properties of a type."""
    root = contract.Resource
    return (not one.translation_rules and one.schema_for.__func__ is root.schema_for.__func__  # type: ignore[attr-defined]
            and one.validate_properties.__func__ is root.validate_properties.__func__  # type: ignore[attr-defined]
            and one.validate_in_stack.__func__ is root.validate_in_stack.__func__)  # type: ignore[attr-defined]


def _renamed(rules: Iterable[translation.Rule], names: frozenset[str]) -> set[str]:
    """Return the names of the properties to which the rules move, or add, the values of others."""
    return {rule.path[0] for rule in rules if len(rule.path) == 1 and rule.source and rule.source[0] in names}


def _without_values(problems: Iterator[Problem], secret: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the problems; those of a secret property are reported without its value."""
    for problem in problems:
        quotes = secret and problem.path.startswith(secret) and not _MISSING.search(problem.message)
        yield replace(problem, message=f"{MASK} does not fit here") if quotes else problem


def _property_error(error: UserError, path: str) -> Problem:
    """Return a failing function as a property error, as Heat does."""
    return replace(error.problems[0], path=path, label=properties.LABEL, kind="StackValidationFailed")


def _reads(value: Any, hidden: frozenset[str]) -> bool:
    read = (name for _, one in node.functions(value) for name in one.parameters())
    return bool(hidden) and any(name is None or name in hidden for name in read)


def _hangs_on_resources(value: Any) -> bool:
    if isinstance(value, GetAttr):
        return True
    return any(True for _, function in node.functions(value) for _ in function.uses())
