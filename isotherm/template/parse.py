"""Parses snippets of a template into trees with functions in them.

A map with exactly one key that names a function of this version is a call; all other data is passed on without a copy.
Arguments are parsed before the call, except for `if`, which parses only the chosen arm.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from isotherm.template.functions import FORMS, logic
from isotherm.template.functions.context import Reader
from isotherm.template.functions.node import Function, LiveList, LiveMap, Misuse
from isotherm.template.versions import Dialect


@lru_cache(maxsize=64)
def functions_of(dialect: Dialect) -> Mapping[str, type[Function]]:
    """Return the functions of resources and outputs, by name."""
    table = {name: FORMS[form] for name, form in dialect.functions.items()}
    return table | dict.fromkeys(dialect.removed, logic.Removed)


@lru_cache(maxsize=64)
def condition_functions_of(dialect: Dialect) -> Mapping[str, type[Function]]:
    """Return the functions of conditions, by name; other functions of the language are OutOfPlace."""
    table: dict[str, type[Function]] = dict.fromkeys(dialect.functions, logic.OutOfPlace)
    table |= {name: FORMS[form] for name, form in dialect.condition_functions.items()}
    return table | dict.fromkeys(dialect.removed, logic.Removed)


class Parser:
    """Parses snippets of one template."""

    __slots__ = ("_functions", "_reader")

    def __init__(self, functions: Mapping[str, type[Function]], reader: Reader) -> None:
        self._functions = functions
        self._reader = reader

    def parse(self, snippet: Any) -> Any:
        """Return the tree of a snippet: the snippet itself if it has no call. Raises Misuse."""
        if type(snippet) is dict:
            if len(snippet) == 1:
                for name in snippet:
                    function = self._functions.get(name)
                    if function is not None:
                        return self._call(function, name, snippet[name])
            return self._map(snippet)
        if type(snippet) is list:
            return self._list(snippet)
        return snippet

    def _map(self, snippet: dict[Any, Any]) -> Any:
        live: LiveMap | None = None
        key: Any = None
        try:
            for key, value in snippet.items():
                kind = type(value)
                if kind is dict or kind is list:
                    parsed = self.parse(value)
                    if parsed is not value:
                        if live is None:
                            live = LiveMap(snippet)
                        live[key] = parsed
        except Misuse as misuse:
            misuse.path.append(key)
            raise
        return snippet if live is None else live

    def _list(self, snippet: list[Any]) -> Any:
        live: LiveList | None = None
        index = 0
        try:
            for index, value in enumerate(snippet):
                kind = type(value)
                if kind is dict or kind is list:
                    parsed = self.parse(value)
                    if parsed is not value:
                        if live is None:
                            live = LiveList(snippet)
                        live[index] = parsed
        except Misuse as misuse:
            misuse.path.append(index)
            raise
        return snippet if live is None else live

    def _call(self, function: type[Function], name: str, args: Any) -> Any:
        try:
            if not issubclass(function, logic.If):
                args = self.parse(args)
            return function.read(name, args, self._reader)
        except Misuse as misuse:
            misuse.path.append(name)
            raise
