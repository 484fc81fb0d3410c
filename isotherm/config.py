"""Every option, once: what it is called, its default, what it is for. Read at the edge, passed inwards as one frozen value.

Options have Heat's names where they mean the same. A file has Heat's form too: an INI file with a `[DEFAULT]` section.
"""

from __future__ import annotations

import configparser
from dataclasses import dataclass, fields
from pathlib import Path

from isotherm import errors


@dataclass(frozen=True, slots=True)
class Settings:
    """All options."""

    #: Which architecture new stacks are made for. A stack keeps the one it was made with, whatever this says later.
    convergence_engine: bool = True


def load(path: Path) -> Settings:
    """The settings of a file; the defaults if there is none. An option that we do not know is another program's."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
        given = [one.name for one in fields(Settings) if one.name in parser.defaults()]
        return Settings(**{name: parser.getboolean("DEFAULT", name) for name in given})
    except (configparser.Error, ValueError) as error:
        hint = "options stand under [DEFAULT], one a line: name = value"
        raise errors.UserError(f"{path}: {error}", hint=hint) from error
