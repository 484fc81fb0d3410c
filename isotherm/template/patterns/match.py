"""Regular expressions of users, matched in bounded time.

The pattern comes with a template and the value with a request, so both may be hostile: Python's `re` backtracks, holds the
interpreter lock meanwhile, and cannot be interrupted. `fullmatch` therefore first bounds the number of paths for a value of
this length, from the parse tree. If the bound is small, `re` is used, which is the fastest. If not, and the pattern is
regular (no back references, no look-around), an automaton is simulated, in time proportional to length times states. All
other patterns are refused. The reasons are in docs/decisions/0006-patterns-in-bounded-time.md.
"""

from __future__ import annotations

import re
import re._parser as sre  # type: ignore[import-not-found]  # the tree that `re` compiles; it has no public name
import warnings
from functools import lru_cache
from typing import Any

from isotherm.template.patterns import automaton

# The most steps that `re` may take; above, the automaton is used. Some tens of milliseconds.
_BACKTRACK_BUDGET = 1_000_000
_MAX_PATTERN_CHARS = 8_192

_ONE_WAY = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY", "AT", "GROUPREF"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


class BadPattern(ValueError):
    """The text is not a regular expression."""


class TooComplex(ValueError):
    """The pattern cannot be matched in bounded time."""


class Pattern:
    """A compiled pattern whose `fullmatch` takes bounded time."""

    __slots__ = ("_compiled", "_tree", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > _MAX_PATTERN_CHARS:
            raise BadPattern(f"pattern is longer than {_MAX_PATTERN_CHARS} characters")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._compiled = re.compile(text)
                self._tree = sre.parse(text)
        except (re.error, OverflowError, RecursionError) as exc:
            raise BadPattern(str(exc)) from exc

    def fullmatch(self, value: str) -> bool:
        cost = _ways(self._tree, len(value)) * (len(value) + len(self.text) + 1)
        if cost <= _BACKTRACK_BUDGET:
            return self._compiled.fullmatch(value) is not None
        try:
            return automaton.fullmatch(_automaton(self.text), value)
        except automaton.NotRegular as exc:
            raise TooComplex(f'pattern "{self.text}" is too complex for a value of {len(value)} characters') from exc


def search_cost(text: str, length: int) -> float:
    """Return an upper bound of the paths that a search in a text of this length can try. Raises BadPattern."""
    return _ways(Pattern(text)._tree, length) * (length + 1)


@lru_cache(maxsize=256)
def _automaton(text: str) -> automaton.Automaton:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return automaton.build(sre.parse(text))


def _ways(tree: Any, length: int) -> float:
    """Return an upper bound of the number of paths that backtracking can take through `tree`."""
    ways = 1.0
    for op, argument in tree:
        ways *= _ways_of(op.name, argument, length)
        if ways > _BACKTRACK_BUDGET:
            return float("inf")
    return ways


def _ways_of(op: str, argument: Any, length: int) -> float:
    if op in _ONE_WAY:
        return 1.0
    if op == "BRANCH":
        return float(sum(_ways(branch, length) for branch in argument[1]))
    if op == "SUBPATTERN":
        return _ways(argument[3], length)
    if op in _REPEATS:
        return _ways_of_repeat(argument[0], argument[1], argument[2], length)
    if op in ("ASSERT", "ASSERT_NOT"):
        return _ways(argument[1], length)
    if op == "ATOMIC_GROUP":
        return _ways(argument, length)
    if op == "GROUPREF_EXISTS":
        yes, no = argument[1], argument[2]
        return _ways(yes, length) + (_ways(no, length) if no else 1.0)
    return float("inf")


def _ways_of_repeat(low: Any, high: Any, body: Any, length: int) -> float:
    low, high = int(low), min(int(high), max(int(low), length + 1))
    inner = _ways(body, length)
    if inner == 1.0 and _fixed_width(body):
        return float(high - low + 1)
    # Each repetition may take `inner` paths and end at any position: count all sequences of repetitions.
    total = 0.0
    for rounds in range(low, high + 1):
        total += (inner if inner > 1.0 else 2.0) ** min(rounds, 64)
        if total > _BACKTRACK_BUDGET:
            return float("inf")
    return total


def _fixed_width(body: Any) -> bool:
    low, high = body.getwidth()
    return bool(low == high and low > 0)
