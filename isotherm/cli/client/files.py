"""Collects the files that a template and its environments name: those of `get_file`, and nested templates.

Only the command line reads files, with the user's rights; the library and the service never open a path that a template
names. The result is the field `files` of the API: content by name. The root template is sent unchanged, so the files it
names keep their names. Names in other files are relative to those files; they are rewritten to be relative to the folder of
the root template, so that one map holds them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from isotherm import errors
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
    """The files found so far. `base` is the folder of the root template."""

    base: Path
    files: dict[str, str] = field(default_factory=dict)

    def add_template(self, found: document.Document) -> None:
        """Collect the files that the root template names. The template is not changed."""
        for reference in _references(found.data):
            self._take(reference, self.base / reference.name, reference.name, found)

    def add_environment(self, found: document.Document, folder: Path) -> None:
        """Collect the templates that an environment maps types to; make their names relative to the root template."""
        data = found.data
        registry = data.get("resource_registry") if isinstance(data, dict) else None
        base_url = registry.get("base_url") if isinstance(registry, dict) else None
        folder = folder / base_url if isinstance(base_url, str) and not _is_remote(base_url) else folder
        for reference in _registry_references(registry, ("resource_registry",)):
            self._take(reference, folder / reference.name, self._key(folder / reference.name), found)

    def _take(self, reference: Reference, file: Path, key: str, found: document.Document) -> None:
        if _is_remote(reference.name):
            return
        if key != reference.name:
            reference.replace(key)
        if key in self.files:
            return
        text = _read(file, reference, found)
        self.files[key] = text
        if reference.is_template:
            self.files[key] = self._nested(text, file, key)

    def _nested(self, text: str, file: Path, key: str) -> str:
        """Collect the files that a nested template names. Return its text, rewritten only if names changed."""
        nested = document.load(text, source=key)
        before = [reference.name for reference in _references(nested.data)]
        for reference in _references(nested.data):
            self._take(reference, file.parent / reference.name, self._key(file.parent / reference.name), nested)
        after = [reference.name for reference in _references(nested.data)]
        return text if before == after else yaml.safe_dump(nested.data, sort_keys=False)

    def _key(self, file: Path) -> str:
        return Path(os.path.relpath(file, self.base)).as_posix()


def _read(file: Path, reference: Reference, found: document.Document) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        why = error.strerror or "cannot be read"
    except UnicodeDecodeError:
        why = "is not UTF-8 text"
    raise errors.UserError(f"{reference.name}: {why}", kind="NotFound", mark=found.mark(reference.path),
                           hint=f"the path is {file}")


def _is_remote(name: str) -> bool:
    return "://" in name


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
