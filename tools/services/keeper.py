"""Starts and ends services under one folder, and records them in a file there."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tools import side_environment
from tools.services import mariadb, packages, postgresql, processes, rabbitmq
from tools.services.processes import Running


class Kind(Protocol):
    """The module of a service."""

    STOP: signal.Signals

    def start(self, folder: Path, password: str, *, sync: bool) -> Running: ...


_KINDS: Mapping[str, Kind] = {"postgresql": postgresql, "mariadb": mariadb, "rabbitmq": rabbitmq}
NAMES = tuple(_KINDS)
DEFAULT = side_environment.ROOT / "scratch" / "services"
# Attempts: a free port may be taken by another process before the service uses it.
_TRIES = 3


class Keeper:
    """The services of one folder."""

    def __init__(self, folder: Path = DEFAULT, *, sync: bool = True) -> None:
        self._folder = folder.resolve()
        self._sync = sync

    def up(self, names: Sequence[str] = NAMES) -> dict[str, Running]:
        """Start those of the services that do not run."""
        packages.install(list(names))
        with self._alone():
            known = self._read()
            for name in names:
                if name not in known or not known[name].is_alive():
                    if name in known:
                        processes.end(known[name].processes, _KINDS[name].STOP)
                    known[name] = self._start(name)
                    self._write(known)
        return {name: known[name] for name in names}

    def down(self, names: Sequence[str] = NAMES, *, forget: bool = False) -> list[str]:
        """End these services; return the names of those that ran. With `forget`, delete their data as well."""
        with self._alone():
            known = self._read()
            ended = [name for name in names if name in known]
            for name in ended:
                processes.end(known[name].processes, _KINDS[name].STOP)
                del known[name]
            self._write(known)
            for name in names if forget else ():
                self._forget(name)
        return ended

    def status(self) -> Mapping[str, Running]:
        """Return the services that were started and not ended; `is_alive` says whether one still runs."""
        return self._read()

    def _start(self, name: str) -> Running:
        for attempt in range(_TRIES):
            try:
                return _KINDS[name].start(self._folder, self._password(), sync=self._sync)
            except processes.Died as error:
                if attempt == _TRIES - 1:
                    raise packages.Impossible(f"{name} does not start: {error}") from error
        raise AssertionError("there is always a last attempt")

    def _password(self) -> str:
        path = self._folder / "password"
        if not path.exists():
            path.touch(0o600)
            path.write_text(secrets.token_urlsafe(16))
        return path.read_text()

    def _forget(self, name: str) -> None:
        place = self._folder / name
        target = place.resolve()
        shutil.rmtree(target, ignore_errors=True)
        if place.is_symlink():
            place.unlink()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with side_environment.alone(self._folder / ".lock"):
            yield

    @property
    def _state(self) -> Path:
        return self._folder / "running.json"

    def _read(self) -> dict[str, Running]:
        if not self._state.exists():
            return {}
        return {name: Running.read(one) for name, one in json.loads(self._state.read_text()).items()}

    def _write(self, known: Mapping[str, Running]) -> None:
        draft = self._state.with_suffix(".draft")
        draft.touch(0o600)
        draft.write_text(json.dumps({name: dataclasses.asdict(one) for name, one in known.items()}, indent=2))
        draft.rename(self._state)


@contextlib.contextmanager
def running(
    names: Sequence[str] = NAMES, folder: Path | None = None, *, sync: bool = False
) -> Iterator[dict[str, Running]]:
    """Run services with empty data; end them and delete the data on exit.

    A guard does so also if the caller is killed.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isotherm-services-")))
        keeper = Keeper(folder, sync=sync)
        stack.enter_context(guarded(folder))
        stack.callback(keeper.down, names, forget=True)
        yield keeper.up(names)


@contextlib.contextmanager
def guarded(folder: Path) -> Iterator[None]:
    """End the services of the folder when this process ends, for any reason."""
    guard = subprocess.Popen([sys.executable, "-m", "tools.services.guard", folder], stdin=subprocess.PIPE,
                             cwd=side_environment.ROOT, start_new_session=True)
    try:
        yield
    finally:
        guard.communicate()
