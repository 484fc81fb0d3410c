"""Environments of their own for programs that the tests talk to: `.venv-keystone`, `.venv-tempest`.

Nothing of ours imports those programs, and their dependencies must not meet ours. Each environment is made once from a
file that pins every version, and anew when that file changes. Processes that want the same one wait for each other.
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
    """Only one process at a time is inside. The kernel lets go of the lock when its holder dies."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def python_of(name: str, requirements: Path) -> Path:
    """The interpreter of `.venv-NAME`, which holds exactly the given requirements."""
    folder = ROOT / f".venv-{name}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    wanted = requirements.read_text()
    with alone(ROOT / ".venv-locks" / name):
        if not ready.exists() or ready.read_text() != wanted:
            print(f"{name}: making {folder.name} (once)", file=sys.stderr, flush=True)
            venv.create(folder, clear=True, with_pip=True)
            install(python, requirements)
            ready.write_text(wanted)
    return python


def install(python: Path, requirements: Path) -> None:
    """uv is quicker; where there is none, or it does not find the registry, pip does the same."""
    arguments = ["--quiet", "--requirement", str(requirements)]
    uv = Path(sys.executable).with_name("uv")
    if uv.exists() and not subprocess.run([str(uv), "pip", "install", "--python", str(python), "--compile-bytecode",
                                           *arguments], stdin=subprocess.DEVNULL, check=False).returncode:
        return
    subprocess.run([str(python), "-m", "pip", "install", "--disable-pip-version-check", *arguments],
                   stdin=subprocess.DEVNULL, check=True)
