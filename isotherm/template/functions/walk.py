"""The walks over trees that hold functions: stage one, stage two, and validation.

None of them copies plain parts or changes a tree: each returns a new tree where a part has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isotherm import errors
from isotherm.template.functions.node import (
    NOTHING,
    Function,
    Known,
    Live,
    LiveList,
    LiveMap,
    Misuse,
    Scope,
    children,
)


def reduce(value: Any, scope: Scope, hidden: frozenset[str]) -> Any:
    """Stage one: evaluate all functions that need no resource. One that fails stays, and fails again in stage two."""
    if isinstance(value, Function):
        return _reduce_function(value, scope, hidden)
    if isinstance(value, LiveMap):
        return _settled_map({key: reduce(item, scope, hidden) if isinstance(item, Live) else item
                             for key, item in value.items()})
    if isinstance(value, LiveList):
        return _settled_list([reduce(item, scope, hidden) if isinstance(item, Live) else item for item in value])
    return value


def _settled_map(items: dict[Any, Any]) -> Any:
    live = False
    for item in items.values():
        if isinstance(item, Live):
            if item is NOTHING:
                return _settled_map({key: each for key, each in items.items() if each is not NOTHING})
            live = True
    return LiveMap(items) if live else items


def _settled_list(items: list[Any]) -> Any:
    live = False
    for item in items:
        if isinstance(item, Live):
            if item is NOTHING:
                return _settled_list([each for each in items if each is not NOTHING])
            live = True
    return LiveList(items) if live else items


def _reduce_function(function: Function, scope: Scope, hidden: frozenset[str]) -> Any:
    args = function.args
    if isinstance(args, Live):
        args = _arguments(args, lambda item: reduce(item, scope, hidden), function.first)
        function = function.with_args(args)
    if isinstance(args, Live) or not function.is_ready(hidden):
        return function
    try:
        function.check(args, _NO_REFERENCES)
        value = function.evaluate(args, scope)
    except Misuse as misuse:
        if misuse.kind == "RequestLimitExceeded":  # it would only take as long again
            raise errors.UserError(misuse.message, kind=misuse.kind) from misuse
        return function
    return value


def _arguments(args: Any, walk: Callable[[Any], Any], first: tuple[object, ...]) -> Any:
    """Walk the arguments. They keep their positions: an `if` that removes its item leaves null."""
    if isinstance(args, LiveList):
        items = list(args)
        for index in sorted(range(len(items)), key=lambda index: index not in first) if first else range(len(items)):
            if isinstance(items[index], Live):
                items[index] = _null(walk(items[index]))
        return LiveList(items) if any(isinstance(item, Live) for item in items) else items
    if isinstance(args, LiveMap):
        entries = dict(args)
        for key in sorted(entries, key=lambda key: key not in first) if first else args:
            if isinstance(entries[key], Live):
                entries[key] = _null(walk(entries[key]))
        return LiveMap(entries) if any(isinstance(item, Live) for item in entries.values()) else entries
    return _null(walk(args))


def _null(value: Any) -> Any:
    return None if value is NOTHING else value


def resolve(value: Any, scope: Scope) -> Any:
    """Stage two: return plain data. Raises Misuse."""
    if isinstance(value, Function):
        args = value.args
        if isinstance(args, Live):
            args = _arguments(args, lambda item: resolve(item, scope), value.first)
        return value.evaluate(args, scope)
    if isinstance(value, LiveMap):
        entries = {key: resolve(item, scope) if isinstance(item, Live) else item for key, item in value.items()}
        return {key: item for key, item in entries.items() if item is not NOTHING}
    if isinstance(value, LiveList):
        items = [resolve(item, scope) if isinstance(item, Live) else item for item in value]
        return [item for item in items if item is not NOTHING]
    return value


def check(value: Any, known: Known) -> None:
    """Check every function inside. Heat joins a function's own path and that of its arguments with a colon."""
    if isinstance(value, Function):
        try:
            check(value.args, known)
            value.check(value.args, known)
        except Misuse as misuse:
            outer = Misuse(str(misuse), hint=misuse.hint)
            outer.path.append(value.name)
            raise outer from misuse
        return
    for key, item in children(value):
        try:
            check(item, known)
        except Misuse as misuse:
            misuse.path.append(key)
            raise


class _NoReferences:
    """References of stage one: it evaluates no function that refers to a resource."""

    def has_resource(self, name: object) -> bool:
        return True

    def has_attribute(self, resource: str, attribute: str) -> bool:
        return True

    def names(self, resource: str | None = None) -> tuple[str, ...]:
        return ()


_NO_REFERENCES = _NoReferences()
