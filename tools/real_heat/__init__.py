"""A real Heat for tests: its API and its engine, on private MariaDB, RabbitMQ and Keystone, on free loopback ports.

    python -m tools.real_heat            runs one until it is interrupted, and says how to reach it

As a library: `with real_heat.started(folder) as heat: ...`. Heat lives in an environment of its own; nothing of ours
imports it. What it is filled with for the tests of `import-heat` is in `sample_stacks` and in the folder `stacks`.
"""

from __future__ import annotations

import configparser
import contextlib
import functools
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tools import keystone, services, side_environment
from tools.identity import seed

PARTS = Path(__file__).resolve().parent
REQUIREMENTS = PARTS.parent / "heat_peer" / "requirements.txt"
KEY = "the-key-of-a-heat-for-tests-only"  # 32 characters, as Heat wants them
PATIENCE = 90.0


@dataclass(frozen=True, slots=True)
class Heat:
    """A running Heat."""

    url: str
    database: str
    identity: keystone.Keystone
    folder: Path
    python: Path
    key: str = KEY

    @contextlib.contextmanager
    def engine(self, *, convergence: bool) -> Iterator[None]:
        """Run an engine of Heat, on the convergence or the legacy path."""
        own = self.folder / ("convergence.conf" if convergence else "legacy.conf")
        own.write_text(f"[DEFAULT]\nconvergence_engine = {convergence}\n")
        with serving(self, ["engine", str(self.folder / "heat.conf"), str(own)]):
            self.wait_for(lambda: self.call("GET", "/build_info"))
            yield

    def wait_for(self, ask: Any) -> Any:
        """Repeat a call until it returns an answer."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return ask()
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline:
                    raise SystemExit(f"heat: does not answer:\n{self.log()[-3000:]}") from None
            time.sleep(0.1)

    def call(self, method: str, path: str, body: Any = None, person: str = "demo") -> Any:
        """Call the Orchestration API as a seeded person."""
        project, token = who(self.identity, person)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/v1/{project}{path}", data, method=method, headers={
            "X-Auth-Token": token, "Content-Type": "application/json"})
        try:
            with seed.DIRECT.open(request, timeout=120) as answer:
                text = answer.read()
                # Where there is no content, Heat answers with plain text.
                return json.loads(text) if text[:1] in (b"{", b"[") else None
        except urllib.error.HTTPError as error:
            error.add_note(error.read().decode(errors="replace")[:2000])
            raise

    def log(self) -> str:
        return (self.folder / "heat.log").read_text(errors="replace")


@functools.cache
def who(identity: keystone.Keystone, person: str) -> tuple[str, str]:
    """Return the project of a person, and a token."""
    return identity.project(seed.PEOPLE[person].project), identity.token(person)


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Heat]:
    """Run a Heat with an empty database and without an engine (see `Heat.engine`)."""
    python = side_environment.python_of("heat", REQUIREMENTS)
    folder.mkdir(parents=True, exist_ok=True)
    with services.running(["mariadb", "rabbitmq"], folder / "services") as parts, \
            keystone.started(folder / "keystone") as identity, \
            socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        identity.point(url)
        heat = Heat(url, create_database(parts["mariadb"].url), identity, folder, python)
        configure(heat, parts["rabbitmq"].url.replace("amqp://", "rabbit://"))
        run(heat, [python.with_name("heat-manage"), "--config-file", folder / "heat.conf", "db_sync"])
        with serving(heat, ["api", str(folder / "heat.conf")], listening):
            heat.wait_for(lambda: seed.DIRECT.open(f"{url}/healthcheck", timeout=10).close())
            yield heat


def create_database(server: str) -> str:
    engine = sa.create_engine(server, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE heat CHARACTER SET utf8mb3"))
    return sa.make_url(server).set(database="heat").render_as_string(hide_password=False)


def configure(heat: Heat, transport: str) -> None:
    paste = heat.python.parent.parent / "etc" / "heat" / "api-paste.ini"
    write(heat.folder / "heat.conf", {
        "DEFAULT": {
            "transport_url": transport, "auth_encryption_key": heat.key, "num_engine_workers": "1",
            "rpc_response_timeout": "30",
            "encrypt_parameters_and_properties": "true", "environment_dir": str(heat.folder / "nothing"),
            "template_dir": str(heat.folder / "nothing"), "region_name_for_services": seed.REGION,
            "heat_metadata_server_url": heat.url, "heat_waitcondition_server_url": f"{heat.url}/waitcondition",
            **seed.stack_domain(heat.identity.admin()),
        },
        "database": {"connection": heat.database.replace("utf8mb4", "utf8")},
        "keystone_authtoken": heat.identity.options(),
        "trustee": {"auth_type": "password", "auth_url": heat.identity.v3, "username": "isotherm",
                    "password": seed.PASSWORD, "user_domain_id": "default"},
        "clients_keystone": {"auth_uri": heat.identity.v3},
        "paste_deploy": {"api_paste_config": str(paste)},
    })


def write(path: Path, sections: Mapping[str, Mapping[str, str]]) -> None:
    parser = configparser.RawConfigParser()
    parser.read_dict(sections)
    with path.open("w") as file:
        parser.write(file)


def run(heat: Heat, command: list[str | Path]) -> None:
    with (heat.folder / "heat.log").open("ab") as log:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    if done.returncode:
        raise SystemExit(f"heat: {Path(command[0]).name} failed:\n{heat.log()[-3000:]}")


@contextlib.contextmanager
def serving(heat: Heat, arguments: list[str], listening: socket.socket | None = None) -> Iterator[None]:
    """Run one of Heat's processes, which ends with this one at the latest."""
    handed = [] if listening is None else [listening.fileno()]
    command: list[str | Path] = [heat.python, PARTS / "serve.py", *arguments, *map(str, handed)]
    with (heat.folder / "heat.log").open("ab") as log:
        process = subprocess.Popen(command, env={**os.environ, "PYTHONWARNINGS": "ignore"}, stdout=log, stderr=log,
                                   stdin=subprocess.PIPE, pass_fds=handed)
    try:
        yield
    finally:
        keystone.end(process)
