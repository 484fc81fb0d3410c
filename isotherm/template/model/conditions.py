"""The conditions of a template: named boolean values that depend on parameters only.

A definition is parsed when it is first needed, and its value is cached. Cycles are detected on the way.
"""

from __future__ import annotations

import graphlib
from collections.abc import Mapping
from typing import Any

from isotherm.template.functions import node, walk
from isotherm.template.functions.node import Function, Misuse, Scope
from isotherm.template.parse import Parser

# Longest chain of conditions that refer to conditions; well below the recursion limit of the interpreter.
_MAX_CHAIN = 64


class Conditions:
    """Evaluates conditions, by name or as written where they are used."""

    def __init__(self, section: object, word: str, parser: Parser, scope: Scope) -> None:
        self._section = section
        self._word = word
        self._parser = parser
        self._scope = scope
        self._parsed: dict[Any, Any] = {}
        self._answers: dict[Any, bool] = {}
        self._open: set[Any] = set()

    def definitions(self) -> Mapping[Any, Any]:
        """Return the section as written."""
        if not isinstance(self._section, Mapping):
            raise Misuse("Conditions validation error: Condition definitions must be a map. Found a"
                         f" {type(self._section).__name__} instead")
        return self._section

    def validate(self) -> None:
        """Check all definitions, used or not. Raises UserError."""
        try:
            for name in self.definitions():
                walk.check(self._definition(name), _NO_RESOURCES)
            self._refuse_cycles()
        except Misuse as misuse:
            raise node.user_error(misuse) from misuse

    def answers(self) -> dict[str, bool]:
        """Return the value of every condition. Raises UserError for one that has none."""
        return {name: self.holds(name) for name in self.definitions()}

    def holds(self, name: Any) -> bool:
        try:
            return self._answer(name)
        except Misuse as misuse:
            raise node.user_error(misuse) from misuse

    def parse(self, snippet: Any) -> Any:
        return self._parser.parse(snippet)

    def is_true(self, condition: Any) -> bool:
        """Return the value of an operand: a boolean, the name of a condition, or a function. Raises Misuse."""
        if isinstance(condition, node.Live):
            condition = walk.resolve(condition, self._scope)
        if condition is None:
            return True
        if isinstance(condition, bool):
            return condition
        if isinstance(condition, dict | list) or condition not in self.definitions():
            raise Misuse(f'Invalid condition "{condition}"', "ValueError")
        return self._answer(condition)

    def _answer(self, name: Any) -> bool:
        if name in self._answers:
            return self._answers[name]
        if name in self._open:
            raise _circular(name)
        if len(self._open) >= _MAX_CHAIN:
            raise Misuse(f"Request limit exceeded: conditions refer to each other more than {_MAX_CHAIN} deep",
                         "RequestLimitExceeded")
        self._open.add(name)
        try:
            value = walk.resolve(self._definition(name), self._scope)
        finally:
            self._open.discard(name)
        if not isinstance(value, bool):
            raise _invalid(name, value)
        self._answers[name] = value
        return value

    def _definition(self, name: Any) -> Any:
        if name in self._parsed:
            return self._parsed[name]
        given = self.definitions()[name]
        try:
            parsed = self._parser.parse(given)
        except Misuse as misuse:
            misuse.path += [name, self._word]
            raise
        if not isinstance(parsed, bool | Function):
            raise _invalid(name, walk.resolve(parsed, self._scope))
        self._parsed[name] = parsed
        return parsed

    def _refuse_cycles(self) -> None:
        """Refuse every cycle; Heat finds one only where it is used."""
        graph = {name: self._operands(name) for name in self.definitions()}
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as exc:
            raise _circular(exc.args[1][0]) from exc

    def _operands(self, name: Any) -> list[Any]:
        """Return the names of the conditions that a definition refers to."""
        names: list[Any] = []
        for _, function in node.functions(self._definition(name)):
            if function.form in ("and", "or", "cfn.not"):
                names += [each for each in function.args if isinstance(each, str)]
            elif function.form == "not" and isinstance(function.args, str):
                names.append(function.args)
        return [each for each in names if each in self.definitions()]


class _NoResources:
    def has_resource(self, name: object) -> bool:
        return False

    def has_attribute(self, resource: str, attribute: str) -> bool:
        return False

    def names(self, resource: str | None = None) -> tuple[str, ...]:
        return ()


_NO_RESOURCES = _NoResources()


def _circular(name: Any) -> Misuse:
    return Misuse(f'Condition validation error: Circular definition for condition "{name}"')


def _invalid(name: Any, value: Any) -> Misuse:
    return Misuse(f'Condition validation error: The definition of condition "{name}" is invalid: {value}')

