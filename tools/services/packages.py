"""Finds the programs of the services, and installs Debian's packages of those that are missing.

Debian's packages start their daemons when they are installed, unless the program policy-rc.d forbids it: ours does, during
the installation.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = {"postgresql": "postgresql", "mariadb": "mariadb-server", "rabbitmq": "rabbitmq-server", "chromium": "chromium"}
_POLICY = Path("/usr/sbin/policy-rc.d")
_PLACES = ("/usr/sbin", "/sbin", "/usr/local/sbin")
# The program on the path is a wrapper that changes the user; this is the server itself.
_RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
# Another process may be installing packages.
_PATIENCE = ("-o", "DPkg::Lock::Timeout=600")


class Impossible(Exception):
    """A service cannot be installed or run here; the text says why, and what would help."""


def program(name: str) -> Path | None:
    """Return the location of a program, also in folders that are not on every path."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *_PLACES]))
    return None if found is None else Path(found)


def need(name: str) -> Path:
    found = program(name)
    if found is None:
        raise Impossible(f"the program {name} is not there, although its package should be installed")
    return found


def rabbitmq_server() -> Path:
    return _RABBITMQ if _RABBITMQ.exists() else need("rabbitmq-server")


def postgresql_folder() -> Path | None:
    """Return the folder of the newest PostgreSQL's programs: Debian has one for each version."""
    found = [one.parent for one in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if found:
        return max(found, key=lambda folder: int(folder.parent.name))
    postgres = program("postgres")
    return None if postgres is None else postgres.resolve().parent


def is_installed(service: str) -> bool:
    if service == "postgresql":
        return postgresql_folder() is not None
    if service == "chromium":
        return program("chromium") is not None
    if service == "mariadb":
        return program("mariadbd") is not None
    return (_RABBITMQ.exists() or program("rabbitmq-server") is not None) and program("epmd") is not None


def install(services: list[str]) -> None:
    """Install the missing packages. Raises Impossible, with the reason, where that fails."""
    missing = [PACKAGES[service] for service in services if not is_installed(service)]
    if not missing:
        return
    wanted = " ".join(missing)
    if shutil.which("apt-get") is None:
        raise Impossible(f"{wanted} is not installed, and there is no apt-get to install it with: install it yourself")
    if os.geteuid() != 0:
        raise Impossible(f"{wanted} is not installed, and only root may: sudo apt-get install {wanted}")
    print(f"services: installing {wanted} (once)", file=sys.stderr, flush=True)
    with _nothing_starts():
        _apt("update", "-qq")
        _apt("install", "-qq", "--yes", "--no-install-recommends", *missing)


def _apt(command: str, *arguments: str) -> None:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(["apt-get", *_PATIENCE, command, *arguments], env=environ, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Impossible(f"apt-get {command} failed:\n{(done.stdout + done.stderr)[-2000:]}")


@contextlib.contextmanager
def _nothing_starts() -> Iterator[None]:
    """Keep packages from starting daemons. An existing policy stays."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink(missing_ok=True)
