"""Options: what there are (`settings`), and how a file of them is read (`files`).

A file is rare on a command line, and the library that reads it is slow to import: it is loaded when there is one.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from isotherm.config.settings import Settings, options

__all__ = ["Settings", "load", "options"]


def load(*paths: Path) -> Settings:
    """The settings of these files, later ones winning; the defaults if none of them is there."""
    present = [path for path in paths if path.exists()]
    if not present:
        return Settings()
    found: Settings = importlib.import_module("isotherm.config.files").read(present)
    return found
