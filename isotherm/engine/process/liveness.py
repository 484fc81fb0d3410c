"""Which workers of a folder are alive: the operating system knows, because each holds a lock that ends with it.

An engine inside a command is often killed (Ctrl-C twice, kill -9, a lost terminal), and the next command should go on at
once instead of waiting for the dead one's leases. Each worker holds `flock` on a file of its own for as long as it
lives. A file whose lock can be had belongs to a dead worker: that is proof, and only what is proved dead is released. A
worker that is stopped, slow or swapped out still holds its lock and is left alone; its leases end by the clock.

The kernel gives a lock up when the last thread of the process is gone, so no call of the dead one is still under way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SUFFIX = ".lock"


class ProcessLock:
    """The presence of one worker in a folder, from `join` to `leave`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._file: int | None = None

    def join(self) -> list[str]:
        """Be present; answers the names of the workers that have died. They stay on the list until `bury`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with _exclusive(self._folder):
            self._file = os.open(self._path(self._name), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            return self._dead()

    def dead(self) -> list[str]:
        """Who has died since; the same as `join` answers."""
        with _exclusive(self._folder):
            return self._dead()

    def _dead(self) -> list[str]:
        return [name for name in self._others() if not _is_held(self._path(name))]

    def forget(self, dead: list[str]) -> None:
        """What the dead held has been released: forget them."""
        for name in dead:
            self._path(name).unlink(missing_ok=True)

    def leave(self) -> None:
        """Be gone, in good order: nothing is left to release."""
        if self._file is not None:
            self._path(self._name).unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _others(self) -> list[str]:
        return sorted(file.stem for file in self._folder.glob(f"*{_SUFFIX}") if file.stem != self._name)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"


@dataclass(frozen=True, slots=True)
class LockState:
    """A worker that is present, or one that died and has not been buried yet."""

    name: str
    since: float
    alive: bool


def list_locks(folder: Path) -> list[LockState]:
    """The workers of the folder, by their age."""
    found = []
    for file in folder.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):
            found.append(LockState(file.stem, file.stat().st_mtime, _is_held(file)))
    return sorted(found, key=lambda one: (one.since, one.name))


@contextmanager
def dead_processes(folder: Path) -> Iterator[list[str]]:
    """The workers that have died; they are forgotten once what they held has been released, without an error."""
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder):
        names = [file.stem for file in sorted(folder.glob(f"*{_SUFFIX}")) if not _is_held(file)]
        yield names
        for name in names:
            (folder / f"{name}{_SUFFIX}").unlink(missing_ok=True)


def _is_held(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """One at a time: between making its file and locking it, a worker would look dead to the others."""
    file = os.open(folder / "door", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
