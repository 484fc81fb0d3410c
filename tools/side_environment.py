"""Separate environments for programs that the tests use: `.venv-keystone`, `.venv-tempest`.

Isotherm does not import those programs, and their dependencies must not mix with ours. Each environment is made once from a
file that pins every version, and again when that file changes. Processes that need the same one wait for each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Let one process at a time in. The kernel releases the lock when its holder ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def python_of(name: str, requirements: Path, interpreter: Path | None = None) -> Path:
    """Return the interpreter of `.venv-NAME`, which has exactly the given requirements.

    The environment is made with the given interpreter, by default with this one.
    """
    folder = ROOT / f".venv-{name}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    wanted = requirements.read_text()
    with alone(ROOT / ".venv-locks" / name):
        if not ready.exists() or ready.read_text() != wanted:
            print(f"{name}: making {folder.name} (once)", file=sys.stderr, flush=True)
            if interpreter is None:
                venv.create(folder, clear=True, with_pip=True)
            else:
                subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
            install(python, requirements)
            ready.write_text(wanted)
    return python


def install(python: Path, requirements: Path) -> None:
    """Install with uv, which is faster; with pip where uv is missing or does not find the registry."""
    arguments = ["--quiet", "--requirement", str(requirements)]
    uv = Path(sys.executable).with_name("uv")
    if uv.exists() and not subprocess.run([str(uv), "pip", "install", "--python", str(python), "--compile-bytecode",
                                           *arguments], stdin=subprocess.DEVNULL, check=False).returncode:
        return
    subprocess.run([str(python), "-m", "pip", "install", "--disable-pip-version-check", *arguments],
                   stdin=subprocess.DEVNULL, check=True)
