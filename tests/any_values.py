"""Unlikely values and function calls, for tests that give them to every property: the same ones for the same seed."""

from __future__ import annotations

import random
from typing import Any

from isotherm.template import versions

CALLS = sorted({name for dialect in versions.VERSIONS.values()
                for name in (*dialect.functions, *dialect.condition_functions)})
PLAIN: list[Any] = [
    None, True, False, 0, 1, -1, 2**70, 1.5, "", "x", "1", "a,b", "$.data", "http", "é\u0000", "::", "OS::stack_id", "%%",
    [], {}, [1, "a"], {"a": 1}, {"a": {"b": [1]}}, [{"a": 1}],
]
KEYS = ["template", "params", "for_each", "keys", "values", "expression", "data", "scheme", "host", "port", "query", "a",
        "type", "properties", "length", "rolling_update", "max_batch_size"]


class Anything:
    """Makes values; `likely` are calls that should come up more often than chance has it."""

    def __init__(self, seed: object, likely: list[Any]) -> None:
        self._random = random.Random(str(seed))
        self._likely = likely

    def plain(self) -> Any:
        return self._random.choice(PLAIN)

    def chance(self, of: float) -> bool:
        return self._random.random() < of

    def one_of(self, options: list[Any]) -> Any:
        return self._random.choice(options)

    def value(self, depth: int = 0) -> Any:
        roll = self._random.random()
        if depth > 3 or roll < 0.25:
            return self.plain()
        if roll < 0.5:
            return self.one_of(self._likely)
        if roll < 0.75:
            return {self.one_of(CALLS): self.value(depth + 1)}
        if roll < 0.9:
            return [self.value(depth + 1) for _ in range(self._random.randrange(4))]
        return {self.one_of(KEYS): self.value(depth + 1) for _ in range(self._random.randrange(4))}

    def properties(self, names: list[str]) -> Any:
        """Some of these, or one value in place of all of them."""
        return self.value() if self.chance(0.1) else {name: self.value() for name in names if self.chance(0.5)}
