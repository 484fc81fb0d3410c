"""Finds and loads plug-ins: installed packages by their entry points, and Python files of the folders in `plugin_dirs`.

A plug-in that cannot be loaded is reported and left out; everything else works. A plug-in cannot take the name of a
built-in type, constraint or function, nor that of another plug-in: an environment maps type names, if that is wanted.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from isotherm.plugins import installed
from isotherm.plugins.installed import CONSTRAINTS, FUNCTIONS, GROUPS, LIFECYCLE, TYPES
from isotherm.plugins.lifecycle import Lifecycle
from isotherm.resources import builtin, contract
from isotherm.resources.registry import Registry
from isotherm.resources.validation import custom_constraints
from isotherm.template import functions, versions
from isotherm.template.functions import descriptions
from isotherm.template.functions.node import Function
from isotherm.template.parameters.constraints import Validator

_MODULES = "isotherm_plugin_files"


class NotAPlugin(Exception):
    """The loaded object is not what its group asks for."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plug-in: where it comes from, and what it provides or why it could not be loaded."""

    name: str
    group: str
    # The installed package with its version, or the path of a file.
    origin: str
    provides: tuple[str, ...] = ()
    error: str = ""


@dataclass(slots=True)
class Plugins:
    """All plug-ins of a process, and what they provide."""

    found: list[Plugin] = field(default_factory=list)
    types: dict[str, type[contract.Resource]] = field(default_factory=dict)
    constraints: dict[str, Validator] = field(default_factory=dict)
    functions: dict[str, type[Function]] = field(default_factory=dict)
    lifecycle: list[Lifecycle] = field(default_factory=list)
    #: By type: the package or file that it comes from.
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def broken(self) -> list[Plugin]:
        return [one for one in self.found if one.error]

    def registry(self, origin_of: Callable[[str], str], *, reaching: bool = True) -> Registry:
        """Return a registry with the built-in types and those of the plug-ins.

        `origin_of` returns the package or file that a type came from which is not here any more; "" if it is not known.
        """
        return builtin.registry(reaching=reaching).with_types(
            self.types.values(), lambda name: self._explain(origin_of(name)))

    def _explain(self, origin: str) -> str:
        """Return where a missing type came from, as a sentence."""
        if not origin:
            return ""
        package = origin.rpartition(" ")[0]
        if any(one.origin == origin or (package and one.origin.rpartition(" ")[0] == package) for one in self.broken):
            return f"It came with {origin}, which could not be loaded here: `isotherm plugin list` says why."
        if origin.endswith(".py"):
            return f"It came with {origin}, which is not in a folder of the option plugin_dirs here."
        return f"It came with {origin}, which is not installed here."


@functools.cache
def load(folders: tuple[str, ...] = ()) -> Plugins:
    """Load all plug-ins, once per process. Never raises because of a plug-in."""
    loading = _Loading()
    for point in installed.entry_points():
        package = point.dist
        origin = f"{package.name} {package.version}" if package is not None else point.value
        loading.add(point.name, point.group, origin, point.load)
    for path in installed.files(folders):
        loading.add_file(path)
    return loading.plugins


class _Loading:
    """Plug-ins that are being loaded, one after the other."""

    def __init__(self) -> None:
        self.plugins = Plugins()

    def add(self, name: str, group: str, origin: str, load_object: Callable[[], Any]) -> None:
        """Load one plug-in and take up what it provides, or record why that is not possible."""
        try:
            provided = _TAKE[group](self.plugins, load_object(), name, origin)
        except Exception as error:  # noqa: BLE001 - code of others may raise anything, and must not stop the service
            self.plugins.found.append(Plugin(name, group, origin, error=f"{type(error).__name__}: {error}"))
        else:
            self.plugins.found.append(Plugin(name, group, origin, tuple(provided)))

    def add_file(self, path: Path) -> None:
        """Load the groups that a file names; a file that names none is reported."""
        try:
            module = _import(path)
        except Exception as error:  # noqa: BLE001 - as above
            self.plugins.found.append(Plugin(path.stem, TYPES, str(path), error=f"{type(error).__name__}: {error}"))
            return
        named = [group for group, attribute in GROUPS.items() if hasattr(module, attribute)]
        for group in named:
            self.add(path.stem, group, str(path), functools.partial(getattr, module, GROUPS[group]))
        if not named:
            wanted = ", ".join(GROUPS.values())
            self.plugins.found.append(Plugin(path.stem, TYPES, str(path), error=f"it has none of {wanted}"))


def _import(path: Path) -> ModuleType:
    name = f"{_MODULES}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NotAPlugin(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _take_types(plugins: Plugins, found: Any, name: str, origin: str) -> list[str]:
    """Take up a class, or several, or a module with `TYPES`."""
    found = getattr(found, "TYPES", found) if isinstance(found, ModuleType) else found
    classes = list(found.values()) if isinstance(found, Mapping) else list(_several(found))
    known = builtin.registry().types.keys() | plugins.types.keys()
    for one in classes:
        if not (inspect.isclass(one) and issubclass(one, contract.Resource)):
            raise NotAPlugin(f"{one!r} is not a subclass of isotherm.resources.contract.Resource")
        if not one.TYPE:
            raise NotAPlugin(f"{one.__name__} has no TYPE")
        _refuse_taken(one.TYPE, known)
    for one in classes:
        plugins.types[one.TYPE] = one
        plugins.origins[one.TYPE] = origin
    return [one.TYPE for one in classes]


def _take_constraints(plugins: Plugins, found: Any, name: str, origin: str) -> list[str]:
    """Take up a validator under the name of its entry point, or a map of validators."""
    validators = found if isinstance(found, Mapping) else {name: found}
    for key, one in validators.items():
        if not callable(one):
            raise NotAPlugin(f"{key}: {one!r} cannot be called with a value")
        _refuse_taken(key, custom_constraints.LOCAL.validators.keys())
    custom_constraints.add(validators)
    plugins.constraints.update(validators)
    return list(validators)


def _take_functions(plugins: Plugins, found: Any, name: str, origin: str) -> list[str]:
    """Take up a function of the template language under the name of its entry point, or a map of functions."""
    given = found if isinstance(found, Mapping) else {name: found}
    for key, one in given.items():
        if not (inspect.isclass(one) and issubclass(one, Function)):
            raise NotAPlugin(f"{key}: {one!r} is not a subclass of isotherm.template.functions.node.Function")
        _refuse_taken(one.form, functions.FORMS.keys())
        _refuse_taken(key, versions.function_names())
    for key, one in given.items():
        functions.add(one)
        versions.add_function(key, one.form)
        descriptions.DESCRIPTIONS[key] = (one.__doc__ or "").partition("\n")[0]
        plugins.functions[key] = one
    return list(given)


def _take_lifecycle(plugins: Plugins, found: Any, name: str, origin: str) -> list[str]:
    """Take up an object with `before` or `after`, or make one of a class."""
    hook: Any = found() if inspect.isclass(found) else found
    if not any(callable(getattr(hook, method, None)) for method in ("before", "after")):
        raise NotAPlugin(f"{hook!r} has neither a method `before` nor a method `after`")
    plugins.lifecycle.append(hook)
    return [name]


def _several(found: Any) -> Iterable[Any]:
    return found if isinstance(found, list | tuple | set | frozenset) else (found,)


def _refuse_taken(name: str, known: Iterable[str]) -> None:
    if name in known:
        raise NotAPlugin(f"{name} is there already")


_TAKE = {TYPES: _take_types, CONSTRAINTS: _take_constraints, FUNCTIONS: _take_functions, LIFECYCLE: _take_lifecycle}
