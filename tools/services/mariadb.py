"""A private MariaDB."""

from __future__ import annotations

import getpass
import signal
import subprocess
from pathlib import Path

from tools.services import processes, templates
from tools.services.packages import need
from tools.services.processes import LOOPBACK, Running

STOP = signal.SIGTERM
_NAME = "mariadb"
_NO_SYNC = ("--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-flush-method=nosync")
# One statement a line: the server reads the file so, before it accepts connections.
_WELCOME = """\
CREATE DATABASE IF NOT EXISTS isotherm CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS isotherm@'%' IDENTIFIED BY '{password}';
GRANT ALL ON *.* TO isotherm@'%' WITH GRANT OPTION;
"""


def start(folder: Path, password: str, *, sync: bool) -> Running:
    place = folder / _NAME
    place.mkdir(mode=0o700, exist_ok=True)
    place = place.resolve()
    data, log, welcome = place / "data", place / "log", place / "welcome.sql"
    server = need("mariadbd")
    if not data.exists():
        templates.copy(_NAME, _version(server), data, _prepare)
    welcome.write_text(_WELCOME.format(password=password))
    welcome.chmod(0o600)
    (port,) = processes.free_ports(1)
    # The path of a socket may not be long: it is relative to the data folder, the server's working directory.
    process = processes.start([
        server, "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={data}", "--socket=socket",
        f"--bind-address={LOOPBACK}", f"--port={port}", f"--pid-file={place / 'pid'}", f"--init-file={welcome}",
        "--skip-name-resolve", "--skip-log-bin", "--character-set-server=utf8mb4", "--max-connections=500",
        "--performance-schema=OFF", "--innodb-buffer-pool-size=128M", *(() if sync else _NO_SYNC),
    ], log, folder=data)
    processes.wait_until(lambda: processes.listens(port), [process], log)
    url = f"mysql+pymysql://isotherm:{password}@{LOOPBACK}:{port}/isotherm?charset=utf8mb4"
    return Running(_NAME, url, port, str(place), str(log), (process,))


def _version(server: Path) -> str:
    return subprocess.run([server, "--version"], capture_output=True, text=True, check=True).stdout


def _prepare(draft: Path) -> None:
    done = subprocess.run(
        [need("mariadb-install-db"), "--no-defaults", f"--user={getpass.getuser()}", f"--datadir={draft}",
         "--skip-test-db"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise processes.Died(f"mariadb-install-db failed:\n{(done.stdout + done.stderr)[-2000:]}")
