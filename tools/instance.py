"""A private instance of Isotherm as a process on a free loopback port, for tests that use it as its users do."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Options = Mapping[str, Mapping[str, str]]
PATIENCE = 240.0
KEY = "0123456789abcdef-a-key-for-tests"


@dataclass(frozen=True, slots=True)
class Isotherm:
    """A running Isotherm."""

    url: str
    home: Path
    process: int
    log: Path


@contextlib.contextmanager
def isotherm(home: Path, options: Options) -> Iterator[Isotherm]:
    """Run `isotherm up` on this folder with these options, by section."""
    home.mkdir(parents=True, exist_ok=True)
    write_options(home / "isotherm.conf", options)
    log = home / "up.log"
    environ = {**os.environ, "ISOTHERM_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    with log.open("ab") as errors:
        command = [str(Path(sys.executable).with_name("isotherm")), "up", "--port", "0"]
        process = subprocess.Popen(command, env=environ, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors)
    try:
        yield Isotherm(address(process, log), home, process.pid, log)
    finally:
        end(process)


def with_keystone(identity: Mapping[str, str], **more: str) -> Options:
    """Return the options of an Isotherm that authenticates with Keystone."""
    return {"DEFAULT": {"auth_strategy": "keystone", "auth_encryption_key": KEY, **more}, "keystone_authtoken": identity}


def write_options(file: Path, options: Options) -> None:
    sections = (f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in section.items())
                for name, section in options.items())
    file.write_text("".join(sections))


def address(process: subprocess.Popen[str], log: Path) -> str:
    """Return the address at which it listens, from its first output."""
    watchdog = threading.Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        for line in process.stdout or ():
            if " listens on " in line:
                return line.split(" listens on ")[1].split()[0].rstrip(".")
    finally:
        watchdog.cancel()
    raise RuntimeError(f"isotherm up did not start:\n{log.read_text()[-3000:]}")


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
