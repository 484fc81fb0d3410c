"""Collects the files that a template and its environments name: those of `get_file`, and nested templates.

Only the command line reads files, with the user's rights; the library and the service never open a path that a template
names. The result is the field `files` of the API: content by name. The root template is sent unchanged, so the files it
names keep their names. Names in other files are relative to those files; they are rewritten to be relative to the folder of
the root template, so that one map holds them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from isotherm import errors
from isotherm.cli.client import places
from isotherm.cli.client.places import Place
from isotherm.template.text import document

TEMPLATE_SUFFIXES = (".yaml", ".template")
#: Keys of a registry entry that are not types.
NOT_TYPES = ("hooks", "restricted_actions")

Path_ = tuple[str | int, ...]


@dataclass(slots=True)
class Reference:
    """A value in a document that names a file."""

    path: Path_
    name: str
    is_template: bool
    replace: Callable[[str], None]


@dataclass(slots=True)
class Collection:
    """The files found so far. `base` is the folder of the root template, or the URL in its place."""

    base: Place
    files: dict[str, str] = field(default_factory=dict)

    def add_template(self, found: document.Document) -> None:
        """Collect the files that the root template names. The template is not changed."""
        for reference in _references(found.data):
            self._take(reference, places.inside(self.base, reference.name), reference.name, found)

    def add_environment(self, found: document.Document, folder: Place) -> None:
        """Collect the templates that an environment maps types to; make their names relative to the root template."""
        data = found.data
        registry = data.get("resource_registry") if isinstance(data, dict) else None
        base_url = registry.get("base_url") if isinstance(registry, dict) else None
        folder = places.inside(folder, base_url) if isinstance(base_url, str) else folder
        for reference in _registry_references(registry, ("resource_registry",)):
            file = places.inside(folder, reference.name)
            self._take(reference, file, places.relative(file, self.base), found)

    def _take(self, reference: Reference, file: Place, key: str, found: document.Document) -> None:
        if places.is_url(reference.name):
            return  # the engine fetches it
        if key != reference.name:
            reference.replace(key)
        if key in self.files:
            return
        text = _read(file, reference, found)
        self.files[key] = text
        if reference.is_template:
            self.files[key] = self._nested(text, file, key)

    def _nested(self, text: str, file: Place, key: str) -> str:
        """Collect the files that a nested template names. Return its text, rewritten only if names changed."""
        nested = document.load(text, source=key)
        before = [reference.name for reference in _references(nested.data)]
        for reference in _references(nested.data):
            inner = places.inside(places.folder(file), reference.name)
            self._take(reference, inner, places.relative(inner, self.base), nested)
        after = [reference.name for reference in _references(nested.data)]
        return text if before == after else yaml.safe_dump(nested.data, sort_keys=False)


def _read(file: Place, reference: Reference, found: document.Document) -> str:
    try:
        return places.read(file).decode()
    except OSError as error:
        why = error.strerror or "cannot be read"
    except UnicodeDecodeError:
        why = "is not UTF-8 text"
    raise errors.UserError(f"{reference.name}: {why}", kind="NotFound", mark=found.mark(reference.path),
                           hint=f"the path is {file}")


def _references(data: Any, path: Path_ = ()) -> Iterator[Reference]:
    """Yield the values of a template that name a file: `get_file: NAME` and `type: NAME.yaml`."""
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, str) and (key == "get_file" or _is_template_type(key, value)):
                yield Reference((*path, key), value, key != "get_file", _setter(data, key))
            else:
                yield from _references(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _references(value, (*path, index))


def _is_template_type(key: object, value: str) -> bool:
    return key in ("type", "Type") and value.endswith(TEMPLATE_SUFFIXES)


def _registry_references(registry: Any, path: Path_) -> Iterator[Reference]:
    if not isinstance(registry, dict):
        return
    for key, value in registry.items():
        if isinstance(value, dict):
            yield from _registry_references(value, (*path, key))
        elif isinstance(value, str) and key not in NOT_TYPES and value.endswith(TEMPLATE_SUFFIXES):
            yield Reference((*path, key), value, True, _setter(registry, key))


def _setter(holder: dict[Any, Any], key: Any) -> Callable[[str], None]:
    def put(name: str) -> None:
        holder[key] = name

    return put
