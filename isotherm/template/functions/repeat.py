"""`repeat`: copies a template once for each combination of values.

The product of a few short lists is long, so the size of the result is computed before the copies are made.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

from isotherm.template.functions.node import Function, Misuse, Scope


class Repeat(Function):
    """`repeat` over lists."""

    __slots__ = ()
    form = "repeat"
    first = ("for_each",)
    kinds: tuple[type, ...] = (list,)
    kind_names = "lists"

    def inspect(self) -> None:
        if not isinstance(self.args, dict):
            raise Misuse(f'Arguments to "{self.name}" must be a map')
        if "template" not in self.args or "for_each" not in self.args:
            raise Misuse(repr(f'"{self.name}" syntax should be {self.name}:\n'
                              "              template: This is %var%\n"
                              "              for_each:\n"
                              "                %var%: ['a', 'b', 'c']"))
        if not isinstance(self.args["for_each"], dict | Function):
            raise Misuse(f'The "for_each" argument to "{self.name}" must contain a map')

    def evaluate(self, args: Any, scope: Scope) -> Any:
        template, variables = args["template"], args["for_each"]
        if not isinstance(variables, dict):
            raise Misuse(f'The "for_each" argument to "{self.name}" must contain a map', "TypeError")
        names = list(variables)
        lists = [self._values(each) for each in variables.values()]
        if not names:
            raise Misuse("not enough values to unpack (expected 2, got 0)", "ValueError")
        self.judge([len(each) for each in variables.values() if each is not None])
        count, combinations = self.combined(lists)
        scope.budget.charge(count * scope.budget.measure(template))
        return [_filled(template, list(zip(names, values, strict=True)), scope) for values in combinations]

    def _values(self, given: Any) -> list[Any]:
        if given is None:
            return []
        if type(given) not in self.allowed():
            raise Misuse(f'The values of the "for_each" argument to "{self.name}" must be {self.allowed_names()}',
                         "TypeError")
        return list(given)

    def allowed(self) -> tuple[type, ...]:
        return self.kinds

    def allowed_names(self) -> str:
        return self.kind_names

    def judge(self, lengths: list[int]) -> None:
        """Check the lengths of the lists; here any lengths can be combined."""

    def combined(self, lists: list[list[Any]]) -> tuple[int, Iterable[tuple[Any, ...]]]:
        """Return the number of combinations, and the combinations: the first name changes slowest."""
        count = math.prod(map(len, lists))
        # `product` would store all the other lists before it finds an empty one.
        return count, itertools.product(*lists) if count else ()


class RepeatWithMap(Repeat):
    """`repeat` over lists and the keys of maps."""

    __slots__ = ()
    form = "repeat.map"
    kinds = (list, dict)
    kind_names = "lists or maps"


class RepeatNested(RepeatWithMap):
    """`repeat` that, with `permutations: false`, combines items of the same index."""

    __slots__ = ()
    form = "repeat.nested"

    def inspect(self) -> None:
        super().inspect()
        if not isinstance(self.args.get("permutations", True), bool):
            raise Misuse(f'"permutations" should be boolean type for {self.name} function.')

    def _is_nested(self) -> bool:
        return bool(self.args.get("permutations", True))

    def allowed(self) -> tuple[type, ...]:
        return self.kinds if self._is_nested() else (list,)

    def allowed_names(self) -> str:
        return self.kind_names if self._is_nested() else "lists"

    def judge(self, lengths: list[int]) -> None:
        if not self._is_nested() and len(set(lengths)) > 1:
            raise Misuse(f"For {self.name}, the length of for_each values should be equal if no nested loop.",
                         "ValueError")

    def combined(self, lists: list[list[Any]]) -> tuple[int, Iterable[tuple[Any, ...]]]:
        if self._is_nested():
            return super().combined(lists)
        rows: Iterator[tuple[Any, ...]] = zip(*lists, strict=False)
        return min(map(len, lists)), rows


def _filled(template: Any, values: list[tuple[Any, Any]], scope: Scope) -> Any:
    """Return a copy of the template with the names replaced in all its texts, one name after the other."""
    if isinstance(template, str):
        for name, value in values:
            template = _replaced(template, name, value, scope)
        return template
    if isinstance(template, dict):
        return {_filled(key, values, scope): _filled(item, values, scope) for key, item in template.items()}
    if isinstance(template, list):
        return [_filled(item, values, scope) for item in template]
    return template


def _replaced(text: str, name: Any, value: Any, scope: Scope) -> str:
    for number, part in enumerate((name, value), 1):
        if not isinstance(part, str):
            kind = "None" if part is None else type(part).__name__
            raise Misuse(f"replace() argument {number} must be str, not {kind}", "TypeError")
    times = text.count(name)
    if times:
        scope.budget.charge(max(0, times * (len(value) - len(name))))
    return text.replace(name, value) if times else text
