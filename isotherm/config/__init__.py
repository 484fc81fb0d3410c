"""Options of Isotherm (`settings`), and the reader of option files (`files`).

The library that reads files is slow to import, so it is loaded only when there is a file.
"""

from __future__ import annotations

from pathlib import Path

from isotherm import loading
from isotherm.config.settings import Settings, options

__all__ = ["Settings", "load", "options"]


def load(*paths: Path) -> Settings:
    """Return the settings of those files that exist; a later file wins. Without any, return the defaults."""
    present = [path for path in paths if path.exists()]
    if not present:
        return Settings()
    found: Settings = loading.load("isotherm.config.files:read")(present)
    return found
