"""A nondeterministic finite automaton for regular expressions, simulated without backtracking.

Built from the parse tree of `re` for its regular part: literals, sets, groups, alternatives, repeats and the anchors that
depend on the neighbouring characters only. `match` uses it for patterns on which backtracking could hang.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_MAX_STATES = 20_000
_STEP_BUDGET = 400_000

# A test sees the text and a position: characters are consumed by `edges`, anchors by `checks` (they consume nothing).
Test = Callable[[str, int], bool]


class NotRegular(ValueError):
    """The pattern is not regular, or its automaton would be too big."""


@dataclass(slots=True)
class Automaton:
    """`edges[s]`: the transitions of state s that consume a character; `jumps[s]`: those that consume none."""

    edges: list[tuple[Test, int] | None] = field(default_factory=list)
    jumps: list[list[tuple[Test | None, int]]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def state(self) -> int:
        if len(self.edges) >= _MAX_STATES:
            raise NotRegular("too many states")
        self.edges.append(None)
        self.jumps.append([])
        return len(self.edges) - 1


def build(tree: Any) -> Automaton:
    made = Automaton()
    made.start = made.state()
    made.end = _Builder(made, int(tree.state.flags)).sequence(tree, made.start)
    return made


def fullmatch(automaton: Automaton, text: str) -> bool:
    steps = 0
    current = _closure(automaton, {automaton.start}, text, 0)
    for position in range(len(text)):
        steps += len(current) + 1
        if steps > _STEP_BUDGET:
            raise NotRegular("too many steps")
        after = {edge[1] for state in current if (edge := automaton.edges[state]) and edge[0](text, position)}
        if not after:
            return False
        current = _closure(automaton, after, text, position + 1)
    return automaton.end in current


def _closure(automaton: Automaton, states: set[int], text: str, position: int) -> set[int]:
    seen, stack = set(states), list(states)
    while stack:
        for check, target in automaton.jumps[stack.pop()]:
            if target not in seen and (check is None or check(text, position)):
                seen.add(target)
                stack.append(target)
    return seen


class _Builder:
    def __init__(self, automaton: Automaton, flags: int) -> None:
        self.to = automaton
        self.flags = flags

    def sequence(self, tree: Any, start: int) -> int:
        for op, argument in tree:
            start = self.part(op.name, argument, start)
        return start

    def part(self, op: str, argument: Any, start: int) -> int:
        if op in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            return self._read(_character_test(op, argument, self.flags), start)
        if op == "AT":
            return self._jump(_anchor(argument.name, self.flags), start)
        if op == "BRANCH":
            end = self.to.state()
            for branch in argument[1]:
                self.to.jumps[self.sequence(branch, self._jump(None, start))].append((None, end))
            return end
        if op == "SUBPATTERN":
            return self._group(argument, start)
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(int(argument[0]), argument[1], argument[2], start)
        raise NotRegular(op)

    def _read(self, test: Test, start: int) -> int:
        source, target = self._jump(None, start), self.to.state()
        self.to.edges[source] = (test, target)
        return target

    def _jump(self, check: Test | None, start: int) -> int:
        target = self.to.state()
        self.to.jumps[start].append((check, target))
        return target

    def _group(self, argument: Any, start: int) -> int:
        _, added, removed, body = argument
        before, self.flags = self.flags, (self.flags | added) & ~removed
        end = self.sequence(body, start)
        self.flags = before
        return end

    def _repeat(self, low: int, high: Any, body: Any, start: int) -> int:
        for _ in range(low):
            start = self.sequence(body, start)
        if str(high) == "MAXREPEAT":
            loop = self._jump(None, start)
            self.to.jumps[self.sequence(body, loop)].append((None, loop))
            return self._jump(None, loop)
        end = self.to.state()
        for _ in range(int(high) - low):
            self.to.jumps[start].append((None, end))
            start = self.sequence(body, start)
        self.to.jumps[start].append((None, end))
        return end


def _character_test(op: str, argument: Any, flags: int) -> Test:
    if op == "ANY":
        return (lambda text, at: True) if flags & re.DOTALL else (lambda text, at: text[at] != "\n")
    items = argument if op == "IN" else [(_Named("LITERAL"), argument)]
    negated = op == "NOT_LITERAL" or any(item[0].name == "NEGATE" for item in items)
    members = [_member(item[0].name, item[1], flags) for item in items if item[0].name != "NEGATE"]
    folds = bool(flags & re.IGNORECASE)

    def test(text: str, at: int) -> bool:
        char = text[at]
        variants = {char, char.lower(), char.upper()} if folds else (char,)
        return any(member(variant) for member in members for variant in variants) != negated

    return test


@dataclass(frozen=True, slots=True)
class _Named:
    name: str


def _member(op: str, argument: Any, flags: int) -> Callable[[str], bool]:
    if op == "LITERAL":
        letter = chr(argument)
        return lambda char: char == letter
    if op == "RANGE":
        low, high = argument
        return lambda char: len(char) == 1 and low <= ord(char) <= high
    if op == "CATEGORY":
        return _category(argument.name, flags)
    raise NotRegular(op)


_CATEGORIES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}


def _category(name: str, flags: int) -> Callable[[str], bool]:
    negated = "_NOT_" in name
    matches = re.compile(_CATEGORIES[name.rsplit("_", 1)[1]], flags & re.ASCII).fullmatch
    return lambda char: (matches(char) is not None) != negated


def _anchor(name: str, flags: int) -> Test:
    many = bool(flags & re.MULTILINE)
    if name == "AT_BEGINNING_STRING":
        return lambda text, at: at == 0
    if name == "AT_END_STRING":
        return lambda text, at: at == len(text)
    if name == "AT_BEGINNING":
        return lambda text, at: at == 0 or (many and text[at - 1] == "\n")
    if name == "AT_END":
        return lambda text, at: at == len(text) or (text[at] == "\n" and (many or at == len(text) - 1))
    if name in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        word, wanted = _category("CATEGORY_WORD", flags), name == "AT_BOUNDARY"
        return lambda text, at: ((at > 0 and word(text[at - 1])) != (at < len(text) and word(text[at]))) == wanted
    raise NotRegular(name)
