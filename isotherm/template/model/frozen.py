"""Trees as plain JSON-able data, and back.

A definition is stored while a stack lives, so its functions have to survive a JSON column. A function becomes
`{"!fn": [form, name, arguments, extra]}`. Data that JSON cannot carry (keys that are not strings, endless numbers), or
that looks like a frozen function itself, is wrapped so that it comes back as it was: `{"!map": [[key, value], ...]}`,
`{"!float": "inf"}`. Everything else stands for itself, and is not copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from isotherm.template.functions import FORMS
from isotherm.template.functions.node import Function, Live, LiveList, LiveMap

_FUNCTION, _MAP, _FLOAT = "!fn", "!map", "!float"
_MARKS = frozenset({_FUNCTION, _MAP, _FLOAT})


def freeze(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool:
        return value
    if isinstance(value, Function):
        return {_FUNCTION: [value.form, value.name, freeze(value.args), freeze(value.extra())]}
    if isinstance(value, Mapping):
        return _freeze_map(value)
    if isinstance(value, list | tuple):
        return _freeze_list(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    return value


def _freeze_map(value: Mapping[Any, Any]) -> Any:
    if not all(type(key) is str for key in value) or (len(value) == 1 and not _MARKS.isdisjoint(value)):
        return {_MAP: [[freeze(key), freeze(item)] for key, item in value.items()]}
    changed = type(value) is not dict
    frozen = {}
    for key, item in value.items():
        each = frozen[key] = freeze(item)
        changed = changed or each is not item
    return frozen if changed else value


def _freeze_list(value: list[Any] | tuple[Any, ...]) -> Any:
    frozen = [freeze(item) for item in value]
    if type(value) is list and all(new is old for new, old in zip(frozen, value, strict=True)):
        return value
    return frozen


def function_of(value: Any) -> tuple[str, Any] | None:
    """Return the form and the arguments of a frozen function; None for anything else."""
    if not isinstance(value, dict) or value.keys() != {_FUNCTION}:
        return None
    form, _, args, _ = value[_FUNCTION]
    return form, args


def thaw(value: Any) -> Any:
    if type(value) is dict:
        if len(value) == 1:
            for mark in value:
                if mark in _MARKS:
                    return _THAW[mark](value[mark])
        entries = {key: thaw(item) for key, item in value.items()}
        if any(isinstance(item, Live) for item in entries.values()):
            return LiveMap(entries)
        return entries if any(entries[key] is not item for key, item in value.items()) else value
    if type(value) is list:
        items = [thaw(item) for item in value]
        if any(isinstance(item, Live) for item in items):
            return LiveList(items)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def _thaw_function(frozen: Any) -> Function:
    form, name, args, extra = frozen
    function = FORMS[form](name, thaw(args))
    function.restore(thaw(extra))
    return function


def _thaw_map(frozen: Any) -> Any:
    entries = {thaw(key): thaw(item) for key, item in frozen}
    return LiveMap(entries) if any(isinstance(item, Live) for item in entries.values()) else entries


_THAW: dict[str, Callable[[Any], Any]] = {_FUNCTION: _thaw_function, _MAP: _thaw_map, _FLOAT: float}
