"""The resource types that commands know: the built-in ones, and those of the plug-ins that are configured."""

from __future__ import annotations

import contextlib

from isotherm import config, loading
from isotherm.cli.client import home
from isotherm.engine.process.home_files import CONFIG, DATABASE
from isotherm.plugins import discover
from isotherm.resources.registry import Registry


def plugins() -> discover.Plugins:
    """Load the plug-ins of the home's configuration."""
    return discover.load(config.load(home.location() / CONFIG, *home.files()).plugin_dirs)


def registry() -> Registry:
    """Return all types."""
    return plugins().registry(_origin_of)


def _origin_of(name: str) -> str:
    """Return the package or file that a missing type came from, as the home's database recorded it; "" if it did not."""
    if not (home.location() / DATABASE).exists():
        return ""
    # Imported here: a template whose types all exist does not need the store, which is slow to import.
    opened = loading.load("isotherm.engine.process.home:Folder")(home.location(), home.files())
    with contextlib.closing(opened) as folder:
        return str(folder.type_origins().get(name, ""))
