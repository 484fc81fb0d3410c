"""Starts, reads and ends process supervisors.

A supervisor is found by its token alone, also by another process: nothing is kept in memory.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from isotherm import errors
from isotherm.resources.local import processes, supervisor
from isotherm.resources.local.confinement import OWN, Confined, Missing, Parts
from isotherm.resources.local.processes import Process

FOLDER = "processes"
_START_S = 30.0
# Seconds after the kill of a process was due, from which the engine kills it itself.
_GRACE_S = 2.0
_TAIL_BYTES = 400

Identity = tuple[int, int]


class State(msgspec.Struct, frozen=True):
    """The state file of a supervisor."""

    command: list[str]
    cwd: str
    log: str
    restart_policy: str
    restarts: int
    boot: str
    keeper: Identity
    child: Identity | None
    code: int | None = None
    ended: float | None = None

    @property
    def has_keeper(self) -> bool:
        return self.boot == boot() and Process(*self.keeper).is_alive()

    @property
    def is_kept(self) -> bool:
        """Return whether a supervisor is alive: then the command runs, or will run again."""
        return self.ended is None and self.has_keeper

    @property
    def is_running(self) -> bool:
        return self.boot == boot() and self.child is not None and Process(*self.child).is_alive()

    @property
    def has_done_its_work(self) -> bool:
        """Return whether the command ended successfully and was not to be restarted."""
        return self.ended is not None and self.code == 0 and self.restart_policy == "on-failure"


def boot() -> str:
    """Return an id of the current boot: processes of an earlier boot are gone, whatever their numbers."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


def state(confined: Confined, token: str) -> State | None:
    try:
        with confined.own(FOLDER) as here:
            file = os.open(f"{token}.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    except (FileNotFoundError, Missing):
        return None
    with os.fdopen(file, "rb") as opened:
        return msgspec.json.decode(opened.read(), type=State)


def log_parts(confined: Confined, token: str, log: str | None) -> Parts:
    return confined.parts(log) if log else (OWN, FOLDER, f"{token}.log")


def start(confined: Confined, token: str, properties: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Start a supervisor for the command; one that runs for this token already is kept. Blocks for a moment."""
    with contextlib.ExitStack() as opened:
        here = opened.enter_context(confined.own(FOLDER, make=True))
        cwd = opened.enter_context(confined.open(confined.parts(properties["cwd"]) if properties["cwd"] else ()))
        log = _log(confined, log_parts(confined, token, properties["log"]))
        opened.callback(os.close, log)
        options = {
            "token": token, "command": properties["command"], "cwd": properties["cwd"] or "",
            "log": properties["log"] or "", "restart_policy": properties["restart_policy"], "boot": boot(),
            "environment": {**environment, **(properties["env"] or {})}, "files": {"here": here, "cwd": cwd, "log": log},
        }
        answer = _run(options, (here, cwd, log))
    if answer.get("error"):
        raise errors.Permanent(f"{properties['command'][0]} cannot be run: {answer['error']}")


def _log(confined: Confined, parts: Parts) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with confined.parent(parts) as folder:
        file = os.open(parts[-1], flags, 0o600, dir_fd=folder)
    os.set_blocking(file, True)
    return file


def _run(options: Mapping[str, Any], files: tuple[int, ...]) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", supervisor.__file__], input=msgspec.json.encode(options), stdout=subprocess.PIPE,
            stderr=options["files"]["log"], pass_fds=files, env={}, start_new_session=True, timeout=_START_S, check=False)
        answer: dict[str, Any] = msgspec.json.decode(done.stdout)
    except subprocess.TimeoutExpired:
        raise errors.Temporary("the process did not start in time") from None
    except msgspec.DecodeError:
        raise errors.Permanent("the process could not be started; see its log") from None
    return answer


def ask_to_end(now: State) -> None:
    """Send TERM to the supervisor, or to the command if there is none."""
    if not (now.is_kept and Process(*now.keeper).send(signal.SIGTERM)) and now.is_running and now.child:
        Process(*now.child).send(signal.SIGTERM)


def has_ended(old: State, overdue_s: float) -> bool:
    """Return whether nothing of it runs any more. Past its time limit, by `overdue_s`, it is killed."""
    kept = old.has_keeper
    if not kept and not old.is_running:
        return True
    if overdue_s >= 0 and kept:
        Process(*old.keeper).send(signal.SIGTERM)  # the second one: now it kills
    if overdue_s >= (_GRACE_S if kept else 0) and old.boot == boot():
        for one in (old.keeper, old.child):
            if one is not None:
                Process(*one).send(signal.SIGKILL)
    return False


def tail(confined: Confined, parts: Parts) -> str:
    """Return the end of a log in one line."""
    try:
        with confined.parent(parts) as folder:
            file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except (FileNotFoundError, Missing):
        return ""
    with os.fdopen(file, "rb") as opened:
        opened.seek(max(0, os.fstat(file).st_size - _TAIL_BYTES))
        return " | ".join(opened.read().decode("utf-8", "replace").split("\n")).strip(" |")


def forget(confined: Confined, token: str) -> None:
    """Remove the files of a supervisor that has ended."""
    with contextlib.suppress(Missing), confined.own(FOLDER) as here:
        for end in ("json", "new", "log", "lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{token}.{end}", dir_fd=here)


def outsider(pid: str, base: str) -> Process | None:
    """Return a process that was started elsewhere, if it lives and works inside the base folder, else None."""
    found = processes.of(int(pid))
    folder = None if found is None else processes.folder_of(found.pid)
    inside = folder is not None and (folder == base or folder.startswith(f"{base}/"))
    return found if inside else None
