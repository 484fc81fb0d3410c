"""A private PostgreSQL. It refuses to run as root; for root it runs as the user that Debian's package made."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tools.services import processes, templates
from tools.services.packages import Impossible, postgresql_folder
from tools.services.processes import LOOPBACK, Process, Running

STOP = signal.SIGINT  # end without waiting for clients to disconnect
_NAME = "postgresql"
_NO_SYNC = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def start(folder: Path, password: str, *, sync: bool) -> Running:
    programs, user = _programs(), _user()
    place = _place(folder, user)
    data, log = place / "data", place / "log"
    if not data.exists():
        templates.copy(_NAME, _version(programs), data, lambda draft: _prepare(programs, draft, user))
        _give(place, user)
    _single(programs, data, user, f"ALTER ROLE isotherm PASSWORD '{password}'")
    (port,) = processes.free_ports(1)
    settings = [f"port={port}", f"listen_addresses={LOOPBACK}", "unix_socket_directories=", "max_connections=500",
                *(() if sync else _NO_SYNC)]
    options = [part for setting in settings for part in ("-c", setting)]
    process = processes.start([programs / "postgres", "-D", data, *options], log, user=user, folder=place)
    ask: list[str | Path] = [programs / "pg_isready", "--quiet", "--host", LOOPBACK, "--port", str(port)]
    _wait(ask, process, log)
    url = f"postgresql+psycopg://isotherm:{password}@{LOOPBACK}:{port}/isotherm"
    return Running(_NAME, url, port, str(place), str(log), (process,))


def _wait(ask: list[str | Path], process: Process, log: Path) -> None:
    processes.wait_until(lambda: subprocess.run(ask, check=False).returncode == 0, [process], log)


def _programs() -> Path:
    found = postgresql_folder()
    if found is None:
        raise Impossible("PostgreSQL is not installed")
    return found


def _version(programs: Path) -> str:
    return subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True, check=True).stdout


def _user() -> str | None:
    """Return the user of the server: None for the current one, or an unprivileged one for root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise Impossible("PostgreSQL does not run as root, and there is no user `postgres` to run it as")


def _place(folder: Path, user: str | None) -> Path:
    """Return the data folder: inside the folder, unless the server's user may not enter it (as those of pytest)."""
    link = folder / _NAME
    if not link.exists():
        link.unlink(missing_ok=True)
        if user is None or all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents)):
            link.mkdir(mode=0o700)
        else:
            link.symlink_to(tempfile.mkdtemp(prefix="isotherm-postgresql-"))
        _give(link.resolve(), user)
    return link.resolve()


def _give(folder: Path, user: str | None) -> None:
    if user is None:
        return
    owner = pwd.getpwnam(user)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)


def _prepare(programs: Path, draft: Path, user: str | None) -> None:
    """Make a cluster with our database. Clients need a password, which each copy gets later."""
    scratch = Path(tempfile.mkdtemp(prefix="isotherm-initdb-"))
    try:
        made, first = scratch / "data", scratch / "password"
        first.write_text("each copy gets another\n")
        _give(scratch, user)
        _run([programs / "initdb", "-D", made, "-U", "isotherm", "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8",
              "--locale=C", f"--pwfile={first}"], user, scratch, "")
        _single(programs, made, user, "CREATE DATABASE isotherm", database="postgres")
        shutil.copytree(made, draft)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _single(programs: Path, data: Path, user: str | None, statement: str, database: str = "isotherm") -> None:
    """Run one statement in single-user mode, before the server accepts connections."""
    _run([programs / "postgres", "--single", "-D", data, database], user, data.parent, f"{statement}\n")


def _run(command: list[str | Path], user: str | None, folder: Path, text: str) -> None:
    done = subprocess.run([str(part) for part in command], input=text, capture_output=True, text=True, check=False,
                          user=user, group=user, extra_groups=[] if user else None, cwd=folder)
    # In this mode the exit code is 0 also after an error.
    if done.returncode or "ERROR:" in done.stderr:
        raise processes.Died(f"{Path(str(command[0])).name} failed:\n{(done.stdout + done.stderr)[-2000:]}")
