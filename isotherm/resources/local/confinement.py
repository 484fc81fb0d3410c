"""Paths that cannot lead out of a base folder.

A path is split once and walked one name at a time from the folder's descriptor, without following symbolic links: what
was checked is what is used, even if the tree changes meanwhile. `.isotherm` in the folder holds claims, processes and
temporary files, and no template reaches it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from isotherm import errors

OWN = ".isotherm"
Parts = tuple[str, ...]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LATER = frozenset({errno.EMFILE, errno.ENFILE, errno.EINTR, errno.EAGAIN, errno.ENOMEM})
_LONGEST_NAME = 255


class Missing(errors.Permanent):
    """The file or folder does not exist, or is of another kind."""


def wrong_with(path: str) -> str | None:
    """Return why a path can never be used, or None."""
    parts = [part for part in PurePosixPath(path).parts if part != "/"]
    if not parts:
        return "a path has to name something inside the folder"
    if ".." in parts:
        return f"{path}: a path must not lead upwards (..)"
    if "\0" in path or any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for part in parts):
        return "a path has names of at most 255 bytes, without NUL"
    if not path.startswith("/") and parts[0] == OWN:
        return f"{path}: {OWN} is not for templates to use"
    return None


class Confined:
    """The base folder. It has to exist."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def parts(self, path: str) -> Parts:
        """Return the names below the base folder. Raises Permanent for paths outside of it."""
        inside = path
        if path.startswith("/"):
            try:
                inside = str(PurePosixPath(path).relative_to(self.base))
            except ValueError:
                raise errors.Permanent(f"{path} is outside of {self.base}, and nothing outside of it may be used") from None
        wrong = wrong_with(inside)
        if wrong:
            raise errors.Permanent(wrong)
        return PurePosixPath(inside).parts

    def absolute(self, parts: Parts) -> str:
        return str(self.base.joinpath(*parts))

    @contextlib.contextmanager
    def parent(self, parts: Parts) -> Iterator[int]:
        """Open the folder that holds the last name. Raises Missing."""
        with self.open(parts[:-1]) as folder:
            yield folder

    @contextlib.contextmanager
    def open(self, parts: Parts) -> Iterator[int]:
        try:
            here = os.open(self.base, _FOLDER)
        except FileNotFoundError:
            # Perhaps it is not mounted now: nothing follows from that for what is in it.
            raise errors.Temporary(f"{self.base} is not there", 10.0) from None
        try:
            for number, name in enumerate(parts, 1):
                here = _step(here, name, "/".join(parts[:number]))
            yield here
        finally:
            os.close(here)

    @contextlib.contextmanager
    def own(self, name: str, *, make: bool = False) -> Iterator[int]:
        """Open a folder inside `.isotherm`. Raises Missing, unless it is to be created."""
        if make:
            with self.open(()) as base:
                _make(base, OWN)
            with self.open((OWN,)) as above:
                _make(above, name)
        with self.open((OWN, name)) as folder:
            yield folder


def _make(folder: int, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)


def _step(here: int, name: str, path: str) -> int:
    """Open the next folder of a path and close the current one, unless that fails."""
    try:
        below = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
    except FileNotFoundError:
        raise Missing(f"the folder {path} does not exist") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Missing(f"{path} is no folder, or a symbolic link, which is not followed") from None
        raise
    os.close(here)
    return below


def status(folder: int, name: str) -> os.stat_result | None:
    """Return the status of a name without following links, or None."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def is_file(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISDIR(found.st_mode)


@contextlib.contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Translate errors of the system: into Temporary where a retry may help, else into Permanent."""
    try:
        yield
    except OSError as error:
        text = f"{path}: {error.strerror or error}"
        if error.errno in _LATER:
            raise errors.Temporary(text) from error
        raise errors.Permanent(text) from error
