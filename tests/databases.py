"""The databases of the tests: a file of SQLite in each folder, or a database of a server for each folder, and a broker.

    ISOTHERM_TEST_ON=postgresql pytest tests/engine tests/store tests/api tests/importing

Servers are those that ISOTHERM_POSTGRESQL_URL, ISOTHERM_MARIADB_URL and ISOTHERM_RABBITMQ_URL tell (`scripts/services env`
prints them); where they tell none, private ones are started for as long as the tests last. To build all tables takes
longer than most tests: databases are emptied, and used again.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm import config
from isotherm.engine.process.home import database_url
from isotherm.engine.process.home_files import CONFIG, DATABASE
from isotherm.store import limits, tables
from isotherm.store.database import connect as connect_database
from isotherm.store.database import schema, sealing
from tools import services

ON = os.environ.get("ISOTHERM_TEST_ON", "sqlite")
SERVERS = ("postgresql", "mariadb")
assert ON in ("sqlite", *SERVERS), f"ISOTHERM_TEST_ON={ON}: sqlite, postgresql or mariadb"
# An unusual order of letters: code that relies on another one fails.
_CREATE = {
    "postgresql": "CREATE DATABASE {} TEMPLATE template0 LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
    "mariadb": "CREATE DATABASE {} CHARACTER SET latin1 COLLATE latin1_swedish_ci",
}
_DROP = {"postgresql": "DROP DATABASE {} WITH (FORCE)", "mariadb": "DROP DATABASE {}"}
_ROWS: Mapping[str, dict[str, Any]] = {"sequences": {"name": "ids", "next": 1}, "turns": {"id": 1}}


def variable(name: str) -> str:
    """Where the URL of a service stands."""
    return f"ISOTHERM_{name.upper()}_URL"


def start(config_: pytest.Config) -> None:
    """Start services for this run and its workers, unless they are running already."""
    wanted = [name for name in (ON, "rabbitmq") if variable(name) not in os.environ]
    if wanted and ON != "sqlite" and not hasattr(config_, "workerinput"):
        stack = contextlib.ExitStack()
        config_.add_cleanup(stack.close)
        for name, one in stack.enter_context(services.running(wanted)).items():
            os.environ[variable(name)] = one.url


class Pool:
    """Databases of one server, which are used one after the other by the folders of this process."""

    def __init__(self, url: str, kind: str) -> None:
        self._url = sa.make_url(url)
        self._kind = kind
        self._server = sa.create_engine(self._url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        self._free: list[str] = []
        self._made = 0
        self._taken: dict[Path, str] = {}
        self._engines: dict[str, sa.Engine] = {}

    def of(self, folder: Path) -> str:
        """The URL of a folder's database."""
        folder = folder.resolve()
        if folder not in self._taken:
            self._taken[folder] = self._free.pop() if self._free else self._make()
        return self._taken[folder]

    def has(self, url: str | sa.URL) -> bool:
        return url in self._engines

    def give_back(self, below: Path | None = None) -> None:
        """What folders below this one had is free again; of all, if none is given."""
        below = below and below.resolve()
        for folder in [one for one in self._taken if below is None or one.is_relative_to(below)]:
            url = self._taken.pop(folder)
            with contextlib.suppress(sa.exc.DBAPIError):
                _empty(self._engines[url])
                self._free.append(url)

    def close(self) -> None:
        for engine in self._engines.values():
            engine.dispose()
        for number in range(self._made):
            self._say(_DROP[self._kind].format(self._name(number)))

    def empty(self) -> str:
        """A database without any table."""
        name = self._name(self._made)
        self._made += 1
        self._say(_CREATE[self._kind].format(name))
        # PyMySQL reads all the certificates of the machine for each connection, and takes longer for it than for the rest.
        more = {"ssl_disabled": "1"} if self._kind == "mariadb" else {}
        return self._url.set(database=name).update_query_dict(more).render_as_string(hide_password=False)

    def _make(self) -> str:
        url = self.empty()
        # It keeps its one connection: to make a new one for each test takes longer than to empty the tables.
        engine = self._engines[url] = sa.create_engine(connect_database.parsed(url), pool_size=1)
        schema.migrate(engine, engine)
        return url

    def _name(self, number: int) -> str:
        return f"test_{os.getpid()}_{number}"

    def _say(self, statement: str) -> None:
        with self._server.connect() as connection:
            connection.exec_driver_sql(statement)


def _engine(url: str) -> sa.Engine:
    return sa.create_engine(connect_database.parsed(url), poolclass=sa.NullPool)


def _filled() -> sa.CompoundSelect[Any]:
    """Asked for when it is needed: modules that come later have tables of their own."""
    return sa.union_all(*(
        sa.select(sa.literal(table.name)).where(sa.exists(sa.select(sa.literal(1)).select_from(table)))
        for table in tables.metadata.tables.values()))


def _empty(engine: sa.Engine) -> None:
    """As the first migration left it."""
    with engine.begin() as connection:
        for name in connection.execute(_filled()).scalars().all():
            connection.execute(sa.delete(tables.metadata.tables[name]))
        for name, row in _ROWS.items():
            connection.execute(sa.insert(tables.metadata.tables[name]), row)


class _Engines:
    """What SQLAlchemy has compiled is kept from test to test: it is a quarter of all the work of a test.

    Connections are not: closing an engine closes its own connections only.
    """

    def __init__(self, connect: Callable[..., sa.Engine]) -> None:
        self._connect = connect
        self._known: dict[tuple[Any, ...], sa.Engine] = {}
        self._compiled: dict[Any, Any] = {}

    def __call__(self, url: str | sa.URL, ring: Any = None, *, reading: bool = False, max_events: int = -1,
                 max_history: int = limits.HISTORY) -> sa.Engine:
        if not pool().has(url):
            return self._connect(url, ring, reading=reading, max_events=max_events, max_history=max_history)
        # A test may have other ideas of how long to wait.
        key = (url, reading, connect_database.SILENCE_S, connect_database.LOCK_S, connect_database.PATIENCE_S)
        if key not in self._known:
            self._known[key] = self._connect(url, reading=reading)
        known = self._known[key]
        return sa.Engine(known.pool.recreate(), known.dialect, known.url, hide_parameters=known.hide_parameters,
                         execution_options={**sealing.options(ring), **limits.options(max_events, max_history),
                                            "compiled_cache": self._compiled})


@functools.cache
def pool() -> Pool:
    return Pool(os.environ[variable(ON)], ON)


@contextlib.contextmanager
def in_force() -> Iterator[None]:
    """While this lasts, the options of a folder name its database and the broker, unless a file of options names one."""
    if ON == "sqlite":
        yield
        return
    load = config.load

    def loaded(*files: Path) -> config.Settings:
        found = load(*files)
        home = next((file.parent for file in files if file.name == CONFIG), None)
        if home is None or found.database_connection:
            return found
        broker = found.transport_url or os.environ[variable("rabbitmq")]
        return replace(found, database_connection=pool().of(home), transport_url=broker)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "load", loaded)
        patch.setattr(connect_database, "connect", _Engines(connect_database.connect))
        try:
            yield
        finally:
            pool().close()


def url_of(folder: Path) -> str:
    """Where the database of a folder is, for a test that opens a store of its own."""
    return f"sqlite:///{folder / DATABASE}" if ON == "sqlite" else pool().of(folder)


def tell(folder: Path) -> None:
    """The options of a folder say where its database is: for processes of their own, which know nothing of a pool."""
    if ON != "sqlite":
        with (folder / CONFIG).open("a") as file:
            file.write(f"\n[DEFAULT]\ntransport_url = {os.environ[variable('rabbitmq')]}\n")
            file.write(f"[database]\nconnection = {pool().of(folder)}\n")


@contextlib.contextmanager
def looking(folder: Path) -> Iterator[sa.Connection]:
    """The tables of a folder as they are stored, to be looked at, or to be changed behind the engine's back."""
    engine = _engine(database_url(folder, config.load(folder / CONFIG)))
    with engine.begin() as connection:
        yield connection


def rows(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that the tables of a folder hold, as it is stored."""
    with looking(folder) as connection:
        return {table.name: [tuple(row) for row in connection.execute(sa.select(table))]
                for table in tables.metadata.sorted_tables}


def text(folder: Path) -> str:
    return "\n".join(f"{name}: {value}" for name, found in rows(folder).items() for row in found for value in row)
