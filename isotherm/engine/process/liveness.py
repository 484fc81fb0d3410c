"""Proves which processes of a folder are dead: each holds a file lock that ends with it.

An engine inside a command is often killed (Ctrl-C twice, kill -9, a lost terminal), and the next command should go on at
once instead of waiting for the leases to expire. Each process holds `flock` on a file of its own. A file whose lock is free
belongs to a dead process; only the leases of processes that are proved dead are released. A process that is suspended, slow
or swapped out still holds its lock, and its leases expire by the clock.

The kernel releases a lock when the last thread of the process has ended, so no call of the dead process is under way.
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
    """The lock of one process in a folder, from `join` to `leave`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._file: int | None = None

    def join(self) -> list[str]:
        """Take the lock, and return the names of dead processes. They stay on the list until `forget`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with _exclusive(self._folder):
            self._file = os.open(self._path(self._name), os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            return self._dead()

    def dead(self) -> list[str]:
        """Return the names of processes that are dead now."""
        with _exclusive(self._folder):
            return self._dead()

    def _dead(self) -> list[str]:
        return [name for name in self._others() if not _is_held(self._path(name))]

    def forget(self, dead: list[str]) -> None:
        """Delete the files of dead processes, after their leases were released."""
        for name in dead:
            self._path(name).unlink(missing_ok=True)

    def leave(self) -> None:
        """Release the lock and delete its file."""
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
    """The lock of a process: held, or left by a dead process that has not been cleaned up."""

    name: str
    since: float
    alive: bool


def list_locks(folder: Path) -> list[LockState]:
    """Return the locks of the folder, oldest first."""
    found = []
    for file in folder.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(FileNotFoundError):
            found.append(LockState(file.stem, file.stat().st_mtime, _is_held(file)))
    return sorted(found, key=lambda one: (one.since, one.name))


@contextmanager
def dead_processes(folder: Path) -> Iterator[list[str]]:
    """Yield the names of dead processes. Their files are deleted if the block ends without an error."""
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
    """Exclude other processes: between creating its file and locking it, a process would look dead to them."""
    file = os.open(folder / "door", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
