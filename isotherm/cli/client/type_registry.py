"""The resource types that commands know: the built-in ones, and those of the plug-ins that are configured."""

from __future__ import annotations

from isotherm import config
from isotherm.cli.client import home
from isotherm.engine.process.home import CONFIG
from isotherm.plugins import discover
from isotherm.resources.registry import Registry


def plugins() -> discover.Plugins:
    """Load the plug-ins of the home's configuration."""
    return discover.load(config.load(home.location() / CONFIG, *home.files()).plugin_dirs)


def registry() -> Registry:
    """Return all types."""
    return plugins().registry()
