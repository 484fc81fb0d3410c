"""Finds the line and column of a problem that does not carry them.

A problem names a path (`resources.web.properties.image`) or, where Heat's message has none, only a name ("Parameter 'size'
is invalid"). Both are looked up in the document. A path that does not exist gives the location of its longest existing
part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from isotherm import errors
from isotherm.template.text import document

Steps = tuple[str | int, ...]

_INDEX = re.compile(r"\[(\d+)\]")
_NESTED = re.compile(r"<[^>]*>")
#: Messages that name a key of the map at their path.
_BELOW = re.compile(r"Unknown Property (.+)")


def problems(found: errors.UserError, source: document.Document) -> errors.UserError:
    """Return the error with a mark for each problem that could be located."""
    placed = tuple(problem if problem.mark else replace(problem, mark=mark(problem, source))
                   for problem in found.problems)
    error = found.with_problems(placed)
    error.__cause__ = found
    return error


def mark(problem: errors.Problem, source: document.Document) -> errors.Mark | None:
    path = problem.path
    if unknown := _BELOW.match(problem.message):
        path = f"{path}.{unknown[1]}"
    steps = by_path(path, source.data) or by_message(problem.message, source.data)
    return source.mark(steps) if steps else None


def by_path(path: str, data: Any) -> Steps:
    """Return the steps of a path as far as they exist in the data. A key may contain dots, so the longest match wins."""
    steps: list[str | int] = []
    remaining = _NESTED.sub("", path)
    while remaining:
        step = _next_step(remaining, data)
        if step is None:
            break
        key, used = step
        steps.append(key)
        data = data[key]
        remaining = remaining[used:].removeprefix(".")
    return tuple(steps)


def _next_step(remaining: str, data: Any) -> tuple[str | int, int] | None:
    if isinstance(data, list):
        index = _INDEX.match(remaining)
        return (int(index[1]), index.end()) if index and int(index[1]) < len(data) else None
    if not isinstance(data, dict):
        return None
    fitting = [key for key in data if _begins(remaining, str(key))]
    if not fitting:
        return None
    key = max(fitting, key=lambda key: len(str(key)))
    return key, len(str(key))


def _begins(remaining: str, key: str) -> bool:
    """Return whether the path continues with this key. Some of Heat's messages write CFN sections in lower case."""
    head, after = remaining[:len(key)], remaining[len(key):len(key) + 1]
    return after in ("", ".", "[") and (head == key or head == key.lower())


def by_message(message: str, data: Any) -> Steps:
    """Return the steps to the object that a message without a path names."""
    if not isinstance(data, dict):
        return ()
    for pattern, find in _MESSAGES:
        if named := pattern.search(message):
            return next((steps for steps in find(data, named[1]) if _exists(steps, data)), ())
    return ()


def _exists(steps: Steps, data: Any) -> bool:
    for step in steps:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True


def _parameter(_data: dict[Any, Any], name: str) -> Iterator[Steps]:
    yield "parameters", name
    yield "Parameters", name


def _resource(_data: dict[Any, Any], name: str) -> Iterator[Steps]:
    yield "resources", name
    yield "Resources", name


def _place(data: dict[Any, Any], name: str) -> Iterator[Steps]:
    """Search for the place of a reference, such as `web.Properties.image`. The name of a resource may have dots."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        key, below = ".".join(parts[:count]), parts[count:]
        for inside in (tuple(below), (*(part.lower() for part in below[:1]), *below[1:]), ()):
            for section, *_ in _resource(data, key):
                yield section, key, *inside
    yield from _resource(data, parts[-1])


def _beginning(data: dict[Any, Any], _name: str) -> Iterator[Steps]:
    yield tuple(data)[:1]


def _section(_data: dict[Any, Any], name: str) -> Iterator[Steps]:
    yield (name,)


def _resource_with(key: str) -> Callable[[dict[Any, Any], str], Iterator[Steps]]:
    """Return a search for a resource whose `key` has the named value or, if `key` is empty, that has the named key."""

    def find(data: dict[Any, Any], named: str) -> Iterator[Steps]:
        for section in ("resources", "Resources"):
            resources = data.get(section)
            for name, body in resources.items() if isinstance(resources, dict) else ():
                for written in (key, key.capitalize()) if key else (named,):
                    if isinstance(body, dict) and written in body and (not key or body[written] == named):
                        yield section, name, written

    return find


_MESSAGES: list[tuple[re.Pattern[str], Callable[[dict[Any, Any], str], Iterator[Steps]]]] = [
    (re.compile(r"Parameter '([^']+)' is invalid"), _parameter),
    (re.compile(r"[Pp]arameter \(([^)]+)\)"), _parameter),
    (re.compile(r"for parameter:? ([^,]+)"), _parameter),
    (re.compile(r"The template section is invalid: (.+)"), _section),
    (re.compile(r"Resource Type \(([^)]+)\) could not be found"), _resource_with("type")),
    (re.compile(r"[Rr]esource type ([^\s,]+)(?: is not available)?, reason: "), _resource_with("type")),
    (re.compile(r'"([^"]+)" is not a valid keyword inside a resource definition'), _resource_with("")),
    (re.compile(r"Invalid keyword\(s\) inside a resource definition: ([^,]+)"), _resource_with("")),
    (re.compile(r'The specified reference "[^"]+" \(in ([^)]+)\)'), _place),
    (re.compile(r"(Template format version not found)"), _beginning),
    (re.compile(r"Circular Dependency Found: (\S+) ->"), _resource),
    (re.compile(r'The template version is invalid: "(\w+):'), _section),
]
