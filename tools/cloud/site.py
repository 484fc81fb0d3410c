"""Starts and ends a cloud under one folder. What is installed, prepared or alive already is left alone."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sqlalchemy as sa

from tools import services, side_environment
from tools.cloud import contents, readiness
from tools.cloud.daemons import Daemons
from tools.cloud.place import PARTS, PLUGINS, TEMPLATES, Place, ports_of
from tools.cloud.table import KEYSTONE, OTHERS, SERVICES, Daemon, Service
from tools.identity import seed
from tools.services import Impossible, processes

DEFAULT = side_environment.ROOT / "scratch" / "cloud"
REQUIREMENTS = PARTS / "requirements.txt"
SERVERS = ("mariadb", "rabbitmq")
NEWEST = (3, 12)


class Site:
    """The cloud of one folder."""

    def __init__(self, folder: Path = DEFAULT) -> None:
        self.folder = folder.resolve()
        self.daemons = Daemons(self.folder)
        self._servers = services.Keeper(self.folder / "servers", sync=False)
        self._began = time.monotonic()

    def is_up(self) -> bool:
        """Return whether all daemons run."""
        known = self.daemons.known()
        return all(daemon.name in known and known[daemon.name].is_alive()
                   for service in SERVICES for daemon in service.daemons)

    def up(self) -> None:
        """Install, prepare and start what is missing. Raises Impossible, with the end of a log."""
        self._began = time.monotonic()
        (self.folder / "log").mkdir(parents=True, exist_ok=True)
        with side_environment.alone(self.folder / ".lock"):
            place = self._place()
            self._configure(place)
            since = readiness.now(place)
            self._prepare(place)
            started = [name for service in OTHERS for name in self._start(place, service)]
            self._say(f"started {', '.join(started)}" if started else "all daemons run already")
            self._wait(place, [daemon for service in OTHERS for daemon in service.daemons])
            self._once(place, "contents", (contents.__name__,), lambda: contents.fill_cloud(place))
            if {"nova", "cinder"} & set(started):
                readiness.wait(place, since, self.daemons)
        self._say("up")

    def down(self, *, forget: bool = False) -> list[str]:
        """End all daemons and servers; return the names of those that ran. With `forget`, delete the folder as well."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with side_environment.alone(self.folder / ".lock"):
            ended = [*self.daemons.end(), *self._servers.down(SERVERS)]
        if forget:
            shutil.rmtree(self.folder)
        return ended

    def _place(self) -> Place:
        """Install the programs, start the servers, and return where everything is."""
        with ThreadPoolExecutor() as pool:
            servers = pool.submit(self._servers.up, SERVERS)
            python = programs()
            found = servers.result()
        self._say(f"{' and '.join(SERVERS)} run")
        return Place(self.folder, python, ports_of(self.folder), found["mariadb"].url.partition("/isotherm?")[0],
                     found["rabbitmq"].url.replace("amqp://", "rabbit://"))

    def _configure(self, place: Place) -> None:
        for service in SERVICES:
            own = place.etc / service.name
            own.mkdir(parents=True, exist_ok=True)
            (place.folder / "state" / service.name).mkdir(parents=True, exist_ok=True)
            for name in service.files:
                (own / name).write_text(place.fill((TEMPLATES / name).read_text(), service.name))
        contents.write_clouds(place)
        engine = sa.create_engine(f"{place.database}/", poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for name in (name for service in SERVICES for name in service.databases):
                connection.execute(sa.text(f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb3"))

    def _prepare(self, place: Place) -> None:
        """Prepare all services side by side. Keystone is started and filled at once."""
        with ThreadPoolExecutor(len(SERVICES)) as pool:
            for result in [pool.submit(self._prepare_identity, place),
                           *(pool.submit(self._prepare_one, place, service) for service in OTHERS)]:
                result.result()

    def _prepare_identity(self, place: Place) -> None:
        self._prepare_one(place, KEYSTONE)
        self._start(place, KEYSTONE)
        self._wait(place, KEYSTONE.daemons)
        urls = [place.fill(endpoint.url, service.name) for service in OTHERS for endpoint in service.endpoints]
        self._once(place, "identity", urls, lambda: contents.fill_identity(place))

    def _prepare_one(self, place: Place, service: Service) -> None:
        commands = [shlex.split(place.fill(command, service.name)) for command in service.prepare]
        self._once(place, service.name, [word for words in commands for word in words],
                   lambda: self._run(place, service.name, commands))

    def _run(self, place: Place, name: str, commands: Sequence[Sequence[str]]) -> None:
        log = place.log / f"prepare-{name}.log"
        for command in commands:
            with log.open("ab") as out:
                done = subprocess.run(command, cwd=place.folder, env=place.environment(), stdin=subprocess.DEVNULL,
                                      stdout=out, stderr=out, check=False)
            if done.returncode:
                raise Impossible(f"{name} cannot be prepared, see {log}:\n{processes.tail(log)}")

    def _once(self, place: Place, name: str, source: Sequence[str], act: Callable[[], None]) -> None:
        """Do something unless it has been done with the same source and the same versions of all programs."""
        done = place.folder / "state" / f"{name}.done"
        wanted = digest(REQUIREMENTS.read_text(), *source)
        if not done.exists() or done.read_text() != wanted:
            act()
            done.write_text(wanted)
            self._say(f"{name} prepared")

    def _start(self, place: Place, service: Service) -> list[str]:
        """Start the daemons of a service that do not run, or run with another configuration; return their names."""
        sources = [*sorted((place.etc / service.name).glob("*.*")), *sorted(PLUGINS.rglob("*.py"))]
        texts = [path.read_text() for path in sources if path.suffix in (".conf", ".yaml", ".py")]
        return [daemon.name for daemon in service.daemons if self.daemons.start(
            daemon.name, shlex.split(place.fill(daemon.command, service.name)),
            {**place.environment(), **{key: place.fill(value, service.name) for key, value in daemon.environment.items()}},
            digest(daemon.command, str(daemon.environment), str(place.ports), *texts))]

    def _wait(self, place: Place, daemons: Sequence[Daemon]) -> None:
        """Wait until each of the daemons answers, if it is an API."""
        for daemon in daemons:
            started = self.daemons.known()[daemon.name]
            ready = functools.partial(answers, place.fill(daemon.ready, daemon.name))
            try:
                processes.wait_until(ready, [started.process], Path(started.log))
            except processes.Died as error:
                raise Impossible(f"{daemon.name} does not start, see {started.log}: {error}") from error

    def _say(self, message: str) -> None:
        print(f"cloud: [{time.monotonic() - self._began:5.1f} s] {message}", file=sys.stderr, flush=True)


def programs() -> Path:
    """Install the programs of all services; return their interpreter."""
    try:
        return side_environment.python_of("cloud", REQUIREMENTS, interpreter())
    except (OSError, subprocess.CalledProcessError) as error:
        raise Impossible(f"the programs of {REQUIREMENTS} cannot be installed: {error}") from error


def interpreter() -> Path | None:
    """Return an interpreter that this release of OpenStack runs on; None if it is this one."""
    if sys.version_info[:2] <= NEWEST:
        return None
    for name in ("python3.12", "python3.11"):
        found = shutil.which(name)
        works = [found or name, "-c", "import venv, ensurepip"]
        if found and subprocess.run(works, capture_output=True, check=False).returncode == 0:
            return Path(found)
    raise Impossible("this release of OpenStack needs Python 3.11 or 3.12, and neither is on the PATH")


def answers(url: str) -> bool:
    """Return whether a service answers, with an error of the client at most. A daemon without a URL always does."""
    if not url:
        return True
    try:
        seed.DIRECT.open(url, timeout=60).close()
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
    return True


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@contextlib.contextmanager
def running(folder: Path = DEFAULT) -> Iterator[Path]:
    """Run a cloud. On exit it is ended, unless it ran before."""
    site = Site(folder)
    was_up = site.is_up()
    try:
        site.up()
        yield site.folder
    finally:
        if not was_up:
            site.down()
