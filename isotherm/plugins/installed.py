"""Finds what is installed of plug-ins, without loading any: entry points of packages, and files of folders.

A command that needs no resource type asks here whether there are plug-ins at all, since the types are slow to import.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator
from pathlib import Path

TYPES, CONSTRAINTS = "isotherm.types", "isotherm.constraints"
FUNCTIONS, LIFECYCLE = "isotherm.functions", "isotherm.stack_lifecycle"
#: By entry-point group: the name of the attribute that a file in `plugin_dirs` may have instead.
GROUPS = {TYPES: "TYPES", CONSTRAINTS: "CONSTRAINTS", FUNCTIONS: "FUNCTIONS", LIFECYCLE: "STACK_LIFECYCLE"}
_FILE, _HEADER = "entry_points.txt", "[isotherm."


def entry_points() -> list[importlib.metadata.EntryPoint]:
    """Return the entry points of the groups, group by group, by name.

    Only files that name a group are parsed: parsing those of all installed packages costs a third of a short command.
    """
    found = [point for package in importlib.metadata.distributions() if _is_used(package)
             for point in package.entry_points if point.group in GROUPS]
    order = list(GROUPS)
    return sorted(found, key=lambda one: (order.index(one.group), one.name))


def _is_used(package: importlib.metadata.Distribution) -> bool:
    """Return whether a package has entry points of ours, and no other one of its name comes before it on the path."""
    text = package.read_text(_FILE) or ""
    return _HEADER in text and importlib.metadata.distribution(package.name).read_text(_FILE) == text


def files(folders: Iterable[str]) -> Iterator[Path]:
    """Yield the Python files of these folders that may be plug-ins."""
    for folder in folders:
        path = Path(folder).expanduser()
        if path.is_dir():
            yield from sorted(one for one in path.glob("*.py") if not one.name.startswith("_"))


def are_any(folders: Iterable[str]) -> bool:
    """Return whether there is a plug-in."""
    return bool(entry_points()) or any(True for _ in files(folders))
