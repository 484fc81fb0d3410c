"""Where stacks live when the engine runs inside the command: one folder, `$ISOTHERM_HOME` or the user's data folder.

`use` opens it. Commands that only look open a `Folder`, which spares them the time to load what makes things happen.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from isotherm import errors
from isotherm.engine.process.home import Folder

T = TypeVar("T")
Opened = TypeVar("Opened", bound=Folder)

VARIABLE = "ISOTHERM_HOME"
LOG = "engine.log"
#: Under this name a group of commands leaves the files of options that it was given.
FILES = "isotherm.files"


class EngineLog(logging.FileHandler):
    """What the engine has to say about itself goes to a file: on the terminal it would tear the picture apart."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self.last = f"{record.getMessage()} (see {self.baseFilename})"


def last_warning() -> str:
    """The last thing that the engine complained of, if it did."""
    return next((handler.last for handler in logging.getLogger("isotherm").handlers if isinstance(handler, EngineLog)), "")


def use(kind: Callable[[Path, Sequence[Path]], Opened], work: Callable[[Opened], Coroutine[Any, Any, T]]) -> T:
    """Open the home, do the work, and close it."""
    path = folder()
    handler = EngineLog(path / LOG)
    log = logging.getLogger("isotherm")
    log.handlers[:], log.propagate = [handler], False
    opened = kind(path, files())
    try:
        return asyncio.run(work(opened))
    finally:
        opened.close()
        log.handlers.clear()
        handler.close()


def files() -> tuple[Path, ...]:
    """The files of options that the group around this command was given."""
    context = click.get_current_context(silent=True)
    return () if context is None else context.meta.get(FILES, ())


def folder() -> Path:
    """The folder; made, for the user alone, if it is not there."""
    path = location()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise errors.UserError(f"{path}: {error.strerror or error}", kind="NotFound",
                               hint=f"Set {VARIABLE} to a folder that you may write to.") from error
    return path


def location() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    data = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification: a relative path is invalid, and ignored.
    return (Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share") / "isotherm"
