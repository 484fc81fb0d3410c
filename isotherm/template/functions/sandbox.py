"""A sandbox for yaql.

yaql itself limits the number of items of a collection and the size of a single result. That does not bound time: nested
loops multiply, a regular expression may backtrack, a power may have a billion digits. So every function of the standard
library is wrapped: each call is a step, steps are charged to the template's budget, and the few functions that can do much
in one step check their arguments first. Steps are counted instead of seconds, so that the same expression gets the same
answer on every machine.

Data goes in as yaql's own frozen copies and comes out as plain dicts, lists and scalars; an expression cannot reach any
other object. Building the context takes a tenth of a second: it is built once, with the first evaluation.
"""

from __future__ import annotations

import collections.abc  # yaql uses it without importing it
import datetime
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, wraps
from typing import Any

import yaql
from yaql.language import exceptions, utils

from isotherm import errors
from isotherm.template.limits import DEFAULT, Budget, Limits
from isotherm.template.patterns import match

Expression = Any  # yaql has no types

_MAX_EXPRESSION_CHARS = 20_000
_MAX_DEPTH = 100
_MAX_BITS = 80_000
_MAX_NUMBER_BITS = 4_096
_MAX_REPLACED_CHARS = 1_000_000
_STEP_COST = 1_000  # charged to the template's budget for evaluated values
_PATTERN_BUDGET = 100_000_000  # ways that `re` may try: a second or two
_WAYS_PER_STEP = 10_000
_ITEMS_PER_STEP = 50
_MAX_TREE = 100_000
_CONTAINERS = (tuple, list, utils.FrozenDict, dict, set, frozenset)
_STRING_PATTERNS = frozenset({"matches_", "matches_operator_string", "not_matches_operator_string"})


class Refused(Exception):
    """The expression is wrong, or exceeds a limit. `kind` is the name of the error in Heat."""

    def __init__(self, message: str, kind: str = "ValueError") -> None:
        super().__init__(message)
        self.kind = kind


class _Meter(threading.local):
    """The remaining steps of the evaluation that runs on this thread."""

    left = 0
    items = 0

    def __init__(self) -> None:
        self.sizes: dict[int, tuple[object, int]] = {}  # by id, with the container itself, so that the id is not reused

    budget: Budget | None = None


_meter = _Meter()


@lru_cache(maxsize=512)
def parse(text: str, limits: Limits = DEFAULT) -> Expression:
    """Parse an expression, to be evaluated within these limits."""
    if len(text) > _MAX_EXPRESSION_CHARS:
        raise Refused(f"longer than {_MAX_EXPRESSION_CHARS} characters")
    try:
        return _engine(limits.yaql_iterations, limits.yaql_memory_bytes)(text)
    except exceptions.YaqlException as exc:
        raise Refused(str(exc)) from exc
    except RecursionError as exc:
        raise Refused("too deep") from exc


def evaluate(text: str, data: object, budget: Budget) -> Any:
    """Evaluate an expression; `data` is `$.data` in it."""
    limits = budget.limits
    expression = parse(text, limits)
    _meter.left, _meter.budget = limits.yaql_steps, budget
    try:
        context = _context().create_child_context()
        found = expression.evaluate(data={"data": data}, context=context)
        return _Output(limits.yaql_iterations, limits.max_value).plain(found, 0)
    except (Refused, errors.UserError):
        raise
    except exceptions.WrappedException as exc:
        inner = exc.wrapped
        raise Refused(str(inner), type(inner).__name__) from exc
    except RecursionError as exc:
        raise Refused("expression is too deep", "RecursionError") from exc
    except StopIteration as exc:
        raise Refused("", "StopIteration") from exc
    except Exception as exc:  # any error that a function of yaql raises on the user's data is the user's error
        raise Refused(str(exc), type(exc).__name__) from exc
    finally:
        _meter.sizes.clear()


@lru_cache(maxsize=8)
def _engine(iterations: int, memory_bytes: int) -> Any:
    return yaql.YaqlFactory().create(options={
        "yaql.limitIterators": iterations, "yaql.memoryQuota": memory_bytes, "yaql.convertTuplesToLists": True,
        "yaql.convertOutputData": False})


@lru_cache(maxsize=1)
def _context() -> Any:
    context = yaql.create_context()
    layer = context
    while layer is not None:
        for name, definitions in layer._functions.items():
            layer._functions[name] = {_fenced(definition) for definition in definitions}
        layer = layer.parent
    return context


def _fenced(definition: Any) -> Any:
    """Return a copy of a function whose calls are counted, and checked where one call can do much."""
    copy = definition.clone()
    payload: Callable[..., Any] = definition.payload
    judge = _judge_for(payload)

    @wraps(payload)
    def counted(*args: Any, **kwargs: Any) -> Any:
        _step()
        if judge is not None:
            judge(*args, **kwargs)
        result = payload(*args, **kwargs)
        if isinstance(result, _CONTAINERS):
            _weigh(result)
        return _Counted(result) if isinstance(result, collections.abc.Iterator) else result

    copy.payload = counted
    return copy


def _weigh(value: Any) -> int:
    """Return the size of a value as a tree. Parts may be shared: forty steps can make one too big to compare."""
    if not isinstance(value, _CONTAINERS):
        return 1
    known = _meter.sizes.get(id(value))
    if known is not None:
        return known[1]
    size = 1 + sum(map(_weigh, value.values() if isinstance(value, collections.abc.Mapping) else value))
    if size > _MAX_TREE:
        raise exceptions.MemoryQuotaExceededException()
    _meter.sizes[id(value)] = (value, size)
    return size


class _Counted:
    """An iterator whose items are counted: some functions of yaql exhaust one without checking yaql's limit."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> Any:
        _meter.items -= 1
        if _meter.items < 0:
            _meter.items = _ITEMS_PER_STEP
            _step()
        return next(self._items)


def _step(cost: int = 1) -> None:
    _meter.left -= cost
    if _meter.budget is not None:
        _meter.budget.work(cost * _STEP_COST)
    if _meter.left < 0:
        raise Refused("Expression takes too many steps", "RequestLimitExceeded")


def _judge_for(payload: Callable[..., Any]) -> Callable[..., None] | None:
    module = payload.__module__.rpartition(".")[2]
    if module == "regex":
        return _StringPattern() if payload.__name__ in _STRING_PATTERNS else _judge_pattern
    judges: dict[tuple[str, str], Callable[..., None]] = {
        ("math", "pow_"): _judge_power, ("math", "shift_bits_left"): _judge_shift,
        ("math", "multiplication"): _judge_product, ("collections", "list_by_int"): _judge_times,
        ("collections", "int_by_list"): _judge_times, ("strings", "replace"): _judge_replace,
        ("strings", "replace_with_dict"): _judge_replace_many}
    return judges.get((module, payload.__name__))


def _judge_power(a: Any, b: Any, c: Any = None) -> None:
    if isinstance(a, int) and isinstance(b, int) and c is None and a.bit_length() * abs(b) > _MAX_BITS:
        raise exceptions.MemoryQuotaExceededException()


def _judge_shift(value: int, bits_number: int) -> None:
    if bits_number > _MAX_BITS:
        raise exceptions.MemoryQuotaExceededException()


def _judge_product(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _MAX_BITS:
        raise exceptions.MemoryQuotaExceededException()


def _judge_times(left: Any, right: Any, engine: Any) -> None:
    count, items = (left, right) if isinstance(left, int) else (right, left)
    if count * len(items) > _MAX_TREE:
        raise exceptions.MemoryQuotaExceededException()


def _judge_replace(string: str, old: str, new: str, count: int = -1) -> None:
    if string.count(old) * len(new) > _MAX_REPLACED_CHARS:
        raise exceptions.MemoryQuotaExceededException()


def _judge_replace_many(string: str, str_func: Any, replacements: Any, count: int = -1) -> None:
    """Bound the size of the result: each replacement may multiply the size, so the worst case is the product."""
    size = len(string) + 1
    for new in replacements.values():
        size *= max(1, len(str(new)))
        if size > _MAX_REPLACED_CHARS * 100:
            raise exceptions.MemoryQuotaExceededException()


def _judge_pattern(*args: Any, **kwargs: Any) -> None:
    """Bound the cost of a function that takes a compiled pattern and one or two texts."""
    given = [*args, *kwargs.values()]
    texts = [each for each in given if isinstance(each, str)]
    length = max(map(len, texts), default=0)
    for each in given:
        if isinstance(each, re.Pattern):
            _judge_cost(each.pattern, length)
            if len(texts) > 1 and (len(texts[0]) + 1) * (len(texts[1]) + 1) > _MAX_REPLACED_CHARS * 10:
                raise exceptions.MemoryQuotaExceededException()


class _StringPattern:
    """Bounds the cost of functions that take a text and a pattern as text."""

    def __call__(self, string: str, pattern: str = "", regexp: str = "") -> None:
        _judge_cost(pattern or regexp, len(string))


def _judge_cost(pattern: str, length: int) -> None:
    try:
        cost = match.search_cost(pattern, length)
    except match.BadPattern as exc:
        raise Refused(str(exc)) from exc
    if cost > _PATTERN_BUDGET:
        raise Refused("pattern is too complex for a text of this length")
    _step(int(cost) // _WAYS_PER_STEP)


class _Output:
    """Converts a result of yaql to plain data, and counts nodes: a short expression can share a list a billion times."""

    def __init__(self, iterations: int, max_nodes: int) -> None:
        self._iterations = iterations
        self._left = min(max_nodes, _MAX_TREE)

    def plain(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            raise exceptions.MemoryQuotaExceededException()
        if isinstance(value, int) and value.bit_length() > _MAX_NUMBER_BITS:
            raise exceptions.MemoryQuotaExceededException()  # it cannot be serialized
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, collections.abc.Mapping):
            items = self._limited(value.items(), len(value))
            return {self._key(key): self.plain(item, depth + 1) for key, item in items}
        if isinstance(value, collections.abc.Set):
            found = [self.plain(item, depth + 1) for item in self._limited(value, len(value))]
            return sorted(found, key=lambda item: (type(item).__name__, repr(item)))
        if utils.is_iterable(value):
            return [self.plain(item, depth + 1) for item in utils.limit_iterable(value, self._iterations)]
        if isinstance(value, datetime.datetime | datetime.timedelta):
            return value.isoformat() if isinstance(value, datetime.datetime) else str(value)
        raise Refused(f"expression gives a {type(value).__name__}, which is no data", "TypeError")

    def _limited(self, items: Iterable[Any], count: int) -> Iterable[Any]:
        if count > self._iterations:
            raise exceptions.CollectionTooLargeException(self._iterations)
        return items

    def _key(self, key: Any) -> Any:
        if key is None or isinstance(key, bool | int | float | str):
            return key
        raise Refused("a key of a map must be a scalar", "TypeError")
