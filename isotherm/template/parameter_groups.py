"""Parameter groups: an order and headings for parameters, for those who ask users for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from isotherm.errors import Problem

_SECTION = "parameter_groups"
LABEL = "Parameter Groups error"


def problems(section: object, parameters: Collection[str]) -> Iterator[Problem]:
    """What is wrong with the section: its shape, parameters that do not exist, and those that are in two groups."""
    if not section:
        return
    if not isinstance(section, list):
        yield _problem(_SECTION, f"The {_SECTION} should be a list.")
        return
    seen: set[Any] = set()
    for group in section:
        yield from _group_problems(group, parameters, seen)


def _group_problems(group: object, parameters: Collection[str], seen: set[Any]) -> Iterator[Problem]:
    if not isinstance(group, Mapping):
        yield _problem(_SECTION, f"A parameter group should be a map, not a {type(group).__name__}.")
        return
    path = f"{_SECTION}.{group.get('label', '')}"
    listed = group.get("parameters")
    if listed is None:
        yield _problem(path, "The parameters must be provided for each parameter group.")
        return
    if not isinstance(listed, list):
        yield _problem(path, "The parameters of parameter group should be a list.")
        return
    for name in listed:
        if not isinstance(name, str) or name not in parameters:
            yield _problem(path, f"The grouped parameter {name} does not reference a valid parameter.")
        elif name in seen:
            yield _problem(path, f"The {name} parameter must be assigned to one parameter group only.")
        else:
            seen.add(name)


def _problem(path: str, message: str) -> Problem:
    return Problem(message, path, label=LABEL)
