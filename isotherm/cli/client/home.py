"""The home: the folder of stacks, keys and logs, `$ISOTHERM_HOME` or a folder in the user's data folder.

`use` opens it. Commands that only read open a `Folder`, which does not import the engine.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from isotherm import errors

if TYPE_CHECKING:
    from isotherm.engine.process.home import Folder  # slow to import: it loads the store

T = TypeVar("T")
Opened = TypeVar("Opened", bound="Folder")

VARIABLE = "ISOTHERM_HOME"
LOG = "engine.log"
#: Key in click's context for the configuration files given to a command group.
FILES = "isotherm.files"
#: Key in click's context for the cloud given to a command.
CLOUD = "isotherm.cloud"
#: Key in click's context for the service given to the command, and the variable that gives one.
REMOTE, REMOTE_VARIABLE = "isotherm.remote", "ISOTHERM_REMOTE"
#: Key in click's context for the depth to which nested stacks are shown.
NESTED = "isotherm.nested"


class EngineLog(logging.FileHandler):
    """Writes the engine's log to a file, since log lines would break the live view; keeps the last message."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self.last = f"{record.getMessage()} (see {self.baseFilename})"


def last_warning() -> str:
    """Return the last message that the engine logged; "" if there is none."""
    return next((handler.last for handler in logging.getLogger("isotherm").handlers if isinstance(handler, EngineLog)), "")


def use(kind: Callable[[Path, Sequence[Path], str], Opened], work: Callable[[Opened], Coroutine[Any, Any, T]]) -> T:
    """Open the home, run the work, and close the home. Raises UserError if a service is chosen instead."""
    if remote():
        raise errors.UserError("This command works on the home folder of this machine, not over the API of a service.",
                               kind="NotSupported", hint=f"Leave --remote out, and {REMOTE_VARIABLE} unset.")
    path = folder()
    handler = EngineLog(path / LOG)
    log = logging.getLogger("isotherm")
    log.handlers[:], log.propagate = [handler], False
    opened = kind(path, files(), cloud_name())
    try:
        return asyncio.run(work(opened))
    finally:
        opened.close()
        log.handlers.clear()
        handler.close()


def files() -> tuple[Path, ...]:
    """Return the configuration files given to the group of the current command."""
    context = click.get_current_context(silent=True)
    return () if context is None else context.meta.get(FILES, ())


def remote() -> str:
    """Return the service to use: that of --remote, or of the variable ISOTHERM_REMOTE; empty: the engine of the home."""
    context = click.get_current_context(silent=True)
    given = "" if context is None else context.meta.get(REMOTE, "")
    return given or os.environ.get(REMOTE_VARIABLE, "")


def nested() -> int:
    """Return the depth of --nested."""
    context = click.get_current_context(silent=True)
    return 0 if context is None else int(context.meta.get(NESTED, 0))


def cloud_name() -> str:
    """Return the name of the cloud to use: that of --os-cloud, or of the variable OS_CLOUD; empty: none is chosen."""
    context = click.get_current_context(silent=True)
    given = "" if context is None else context.meta.get(CLOUD, "")
    return given or os.environ.get("OS_CLOUD", "")


def folder() -> Path:
    """Return the home; create it, accessible to the user only, if it does not exist."""
    path = location()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise errors.UserError(f"{path}: {error.strerror or error}", kind="NotFound",
                               hint=f"Set {VARIABLE} to a folder that you may write to.") from error
    return path


def location() -> Path:
    """Return the path of the home."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    data = os.environ.get("XDG_DATA_HOME", "")
    # XDG specification: a relative path is invalid and ignored.
    return (Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share") / "isotherm"
