"""Where stacks live when the engine runs inside the command: one folder, `$ISOTHERM_HOME` or the user's data folder."""

from __future__ import annotations

import os
from pathlib import Path

from isotherm import errors

VARIABLE = "ISOTHERM_HOME"


def folder() -> Path:
    """The folder; made, for the user alone, if it is not there."""
    path = place()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise errors.UserError(f"{path}: {error.strerror or error}", kind="NotFound",
                               hint=f"Set {VARIABLE} to a folder that you may write to.") from error
    return path


def place() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    data = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification: a relative path is invalid, and ignored.
    return (Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share") / "isotherm"
