"""A real Keystone for tests and for trying things out: SQLite, fernet tokens, a free loopback port.

    python -m tools.keystone             runs one until it is interrupted, and prints its address

As a library: `with keystone.started(folder, orchestration=url) as identity: ...`. Keystone has an environment of its own. A
seeded database is made once and copied for each start, so that a start takes as long as Keystone's imports. Its users are
in tools/identity/seed.py.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import side_environment
from tools.identity import seed

PARTS = Path(__file__).resolve().parent / "identity"
REQUIREMENTS = PARTS / "requirements.txt"
NOWHERE = "http://127.0.0.1:9"
PATIENCE = 120.0

# Few hash rounds: passwords protect nothing here, and each log-in would take a quarter of a second.
CONFIG = """\
[DEFAULT]
use_stderr = true
[database]
connection = sqlite:///{folder}/keystone.db
sqlite_synchronous = false
[token]
provider = fernet
expiration = 86400
[fernet_tokens]
key_repository = {folder}/keys
[fernet_receipts]
key_repository = {folder}/keys
[credential]
key_repository = {folder}/credential-keys
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = dogpile.cache.memory
"""


@dataclass(frozen=True, slots=True)
class Keystone:
    """A running Keystone."""

    url: str
    folder: Path
    process: int

    @property
    def v3(self) -> str:
        return f"{self.url}/v3"

    def token(self, name: str) -> str:
        """Return a new token of a seeded person."""
        return seed.log_in(self.v3, seed.PEOPLE[name])

    def admin(self) -> seed.Api:
        return seed.Api(self.v3, self.token("admin"))

    def project(self, name: str) -> str:
        """Return the id of a project."""
        return str(self.admin().call("GET", f"/projects?name={name}")["projects"][0]["id"])

    def user(self, name: str) -> str:
        """Return the id of a user."""
        return str(self.admin().call("GET", f"/users?name={name}")["users"][0]["id"])

    def point(self, orchestration: str) -> None:
        """Set the URL of the orchestration service in the catalogue."""
        api = self.admin()
        service = api.ensure("service", "isotherm")
        for endpoint in api.call("GET", f"/endpoints?service_id={service}")["endpoints"]:
            api.call("PATCH", f"/endpoints/{endpoint['id']}",
                     {"endpoint": {"url": f"{orchestration}/v1/%(project_id)s"}})

    def variables(self, name: str) -> dict[str, str]:
        """Return the environment variables of the command line clients."""
        person = seed.PEOPLE[name]
        return {"OS_AUTH_URL": self.v3, "OS_IDENTITY_API_VERSION": "3", "OS_USERNAME": person.name,
                "OS_PASSWORD": seed.PASSWORD, "OS_PROJECT_NAME": person.project, "OS_USER_DOMAIN_ID": "default",
                "OS_PROJECT_DOMAIN_ID": "default", "OS_REGION_NAME": seed.REGION}

    def options(self) -> dict[str, str]:
        """Return the [keystone_authtoken] section of a service that uses this Keystone."""
        return options(self.v3)

    def clouds(self) -> dict[str, Any]:
        """Return the content of a clouds.yaml with every seeded person."""
        return {"clouds": {name: {"region_name": seed.REGION, "auth": {
            "auth_url": self.v3, "username": name, "password": seed.PASSWORD, "project_name": person.project,
            "user_domain_id": "default", "project_domain_id": "default"}} for name, person in seed.PEOPLE.items()}}


def options(v3: str) -> dict[str, str]:
    """Return the [keystone_authtoken] section of a service that uses the Keystone at this address."""
    return {"www_authenticate_uri": v3, "auth_type": "password", "auth_url": v3, "username": "isotherm",
            "password": seed.PASSWORD, "user_domain_id": "default", "project_name": "service",
            "project_domain_id": "default", "region_name": seed.REGION}


@contextlib.contextmanager
def started(folder: Path, orchestration: str = NOWHERE) -> Iterator[Keystone]:
    """Run a Keystone in `folder`, with the orchestration service at the given address in its catalogue."""
    python = side_environment.python_of("keystone", REQUIREMENTS)
    shutil.copytree(template(python), folder, dirs_exist_ok=True)
    with serving(python, folder, orchestration) as running:
        yield running


def template(python: Path) -> Path:
    """Return the folder that each start copies; make it when it is missing or its sources have changed."""
    source = b"".join((REQUIREMENTS.read_bytes(), (PARTS / "seed.py").read_bytes(), CONFIG.encode()))
    made = python.parent.parent / f"template-{hashlib.sha256(source).hexdigest()[:12]}"
    with side_environment.alone(side_environment.ROOT / ".venv-locks" / "keystone-template"):
        if not made.exists():
            draft = made.with_suffix(".draft")
            shutil.rmtree(draft, ignore_errors=True)
            prepare(python, draft)
            draft.rename(made)
    return made


def prepare(python: Path, folder: Path) -> None:
    for name in ("keys", "credential-keys"):
        (folder / name).mkdir(parents=True, mode=0o700)
    configure(folder)
    owner = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
    address = f"{seed.IDENTITY}/v3"
    for command in (["db_sync"], ["fernet_setup", *owner], ["credential_setup", *owner], [
            "bootstrap", "--bootstrap-password", seed.PASSWORD, "--bootstrap-region-id", seed.REGION,
            "--bootstrap-public-url", address, "--bootstrap-internal-url", address, "--bootstrap-admin-url", address]):
        with (folder / "log").open("ab") as log:
            done = subprocess.run([python.with_name("keystone-manage"), "--config-dir", folder / "etc", *command],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
        if done.returncode:
            raise SystemExit(f"keystone: {command[0]} failed:\n{(folder / 'log').read_text()[-3000:]}")
    with serving(python, folder, seed.ORCHESTRATION, identity=seed.IDENTITY) as running:
        seed.fill(running.v3)


def configure(folder: Path) -> None:
    (folder / "etc").mkdir(exist_ok=True)
    (folder / "etc" / "keystone.conf").write_text(CONFIG.format(folder=folder.resolve()))


def relocate(folder: Path, identity: str, orchestration: str) -> None:
    """Write the addresses of this start over the placeholders."""
    with contextlib.closing(sqlite3.connect(folder / "keystone.db")) as connection, connection:
        for placeholder, url in ((seed.IDENTITY, identity), (seed.ORCHESTRATION, orchestration)):
            connection.execute("update endpoint set url = replace(url, ?, ?)", (placeholder, url))


@contextlib.contextmanager
def serving(python: Path, folder: Path, orchestration: str, identity: str = "") -> Iterator[Keystone]:
    """Run Keystone over a prepared folder. Its socket is bound here, so that no other process can take the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        configure(folder)
        relocate(folder, identity or url, orchestration)
        environ = {**os.environ, "OS_KEYSTONE_CONFIG_DIR": str(folder / "etc"), "PYTHONWARNINGS": "ignore"}
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen([python, PARTS / "serve.py", str(listening.fileno())], env=environ, stdout=log,
                                       stderr=log, stdin=subprocess.PIPE, pass_fds=[listening.fileno()])
    try:
        wait_until_it_answers(url, process, folder / "log")
        yield Keystone(url, folder, process.pid)
    finally:
        end(process)


def wait_until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), seed.DIRECT.open(f"{url}/v3", timeout=10):
            return
        time.sleep(0.05)
    raise SystemExit(f"keystone: does not answer:\n{log.read_text()[-3000:]}")


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin:
        process.stdin.close()


def main() -> int:
    summary = __doc__.splitlines()[0] if __doc__ else ""
    parser = argparse.ArgumentParser(prog="python -m tools.keystone", description=summary)
    parser.add_argument("--orchestration", default="http://127.0.0.1:8004",
                        help="where the catalogue says that Isotherm is (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print a clouds.yaml with everyone, as JSON, and nothing else")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="keystone-") as scratch, \
            started(Path(scratch) / "keystone", options.orchestration) as running, contextlib.suppress(KeyboardInterrupt):
        if options.json:
            print(json.dumps(running.clouds()), flush=True)
        else:
            print("\n".join(f"export {name}={value}" for name, value in running.variables("demo").items()))
            print(f"# people: {', '.join(seed.PEOPLE)}; password: {seed.PASSWORD}; Ctrl-C ends it", flush=True)
        while True:
            time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
