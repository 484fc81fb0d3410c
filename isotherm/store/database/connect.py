"""Opens a database by its URL: SQLite, PostgreSQL or MariaDB, set up so that units of work behave alike on all of them.

Acknowledged writes survive a kill and a power loss. A read sees one moment. Write transactions follow one another: on
SQLite by its own lock, on the others in the write lane (`lane`). The database ends a session that is idle inside a
transaction, so that a frozen machine does not block the others.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from isotherm import errors, loading
from isotherm.store import limits
from isotherm.store.database import sealing

if TYPE_CHECKING:
    from isotherm.secrets.ring import KeyRing

# The drivers, by the scheme of the URL.
_DRIVERS = {
    "sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql",
}
# Time limits in seconds: a session idle inside a transaction, a wait for a lock, a wait for any answer.
SILENCE_S = 15
LOCK_S = 30
PATIENCE_S = 60.0


def parsed(url: str) -> sa.URL:
    """Return the URL with our driver. Raises UserError for a malformed URL or an unknown database."""
    try:
        found = sa.make_url(url)
        driver = _DRIVERS[found.drivername.partition("+")[0]]
    except (sa.exc.ArgumentError, KeyError) as error:
        raise errors.UserError("[database] connection: this is not the URL of a supported database.", kind="NotSupported",
                               hint="sqlite:///file, postgresql://user:password@host/name or "
                                    "mysql://user:password@host/name") from error
    return found.set(drivername=driver)


def shown(url: str) -> str:
    """Return a URL without its password."""
    return parsed(url).render_as_string(hide_password=True)


def file_of(url: str) -> Path | None:
    """Return the file of an SQLite database; None for a server."""
    where = parsed(url)
    return Path(where.database or "") if where.get_backend_name() == "sqlite" else None


def connect(
    url: str | sa.URL, ring: Callable[[], KeyRing] | None = None, *, reading: bool = False, max_events: int = -1,
    max_history: int = limits.HISTORY,
) -> sa.Engine:
    """Return an SQLAlchemy engine for the URL, for writing or (`reading`) for reading only.

    With a ring, columns that may carry secrets are sealed. The oldest events of a stack beyond `max_events` are dropped,
    and the oldest inputs beyond `max_history`. Error texts do not contain the parameters of statements.
    """
    where = parsed(url) if isinstance(url, str) else url
    set_up = _SET_UPS[where.get_backend_name()]
    try:
        known = {**sealing.options(ring), **limits.options(max_events, max_history)}
        engine = sa.create_engine(where, pool_size=4, max_overflow=8, hide_parameters=True, pool_recycle=1800,
                                  execution_options=known, **set_up.options(where))
    except ModuleNotFoundError as error:
        raise errors.UserError(f"The driver for this database is not installed: {error.name}.", kind="NotSupported",
                               hint="pip install 'isotherm[postgresql]' or 'isotherm[mariadb]'") from error
    set_up.listen(engine, reading=reading)
    return engine


def needs_turns(engine: sa.Engine) -> bool:
    """Return whether the database allows concurrent writers, so that they need the write lane."""
    return engine.dialect.name != "sqlite"


class _Sqlite:
    @staticmethod
    def options(_where: sa.URL) -> dict[str, Any]:
        return {"connect_args": {"timeout": PATIENCE_S}}

    @staticmethod
    def listen(engine: sa.Engine, *, reading: bool) -> None:
        # A writer takes its lock at once: a transaction that begins with reads could fail at its first write.
        begin = "BEGIN" if reading else "BEGIN IMMEDIATE"
        sa.event.listen(engine, "connect", _Sqlite._set_up)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))

    @staticmethod
    def _set_up(connection: Any, _record: object) -> None:
        # The driver begins no transactions by itself: `listen` sends BEGIN.
        connection.isolation_level = None
        cursor = connection.cursor()
        _Sqlite._write_ahead(cursor)
        for pragma in ("synchronous=FULL", "temp_store=MEMORY", "cache_size=-65536"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @staticmethod
    def _write_ahead(cursor: Any) -> None:
        """Switch to WAL. Retried, because SQLite does not wait for another process that switches at the same time."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                cursor.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return


class _Postgresql:
    DRIVER = "isotherm.store.database.postgresql"

    @staticmethod
    def options(_where: sa.URL) -> dict[str, Any]:
        loading.load(_Postgresql.DRIVER)
        # No prepared statements: a plan that was made for an empty table would be kept.
        settings = {"idle_in_transaction_session_timeout": f"{SILENCE_S}s", "lock_timeout": f"{LOCK_S}s", "jit": "off",
                    "timezone": "UTC"}
        return {"use_native_hstore": False, "connect_args": {
            "prepare_threshold": None, "connect_timeout": 5, "keepalives_idle": 5, "keepalives_interval": 2,
            "keepalives_count": 5, "tcp_user_timeout": 15_000, "application_name": "isotherm",
            "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
        }}

    @staticmethod
    def listen(engine: sa.Engine, *, reading: bool) -> None:
        driver, patience_s = loading.load(_Postgresql.DRIVER), PATIENCE_S

        def connect(_dialect: object, _record: object, given: Any, named: Any) -> Any:
            return driver.connect(patience_s, *given, **named)

        sa.event.listen(engine, "do_connect", connect)
        if reading:
            sa.event.listen(engine, "connect", lambda connection, _record: driver.only_reads(connection))


class _Mariadb:
    DRIVER = "isotherm.store.database.mariadb"

    @staticmethod
    def options(where: sa.URL) -> dict[str, Any]:
        loading.load(_Mariadb.DRIVER)
        return {"connect_args": {"charset": where.query.get("charset", "utf8mb4"), "connect_timeout": 5,
                                 "read_timeout": PATIENCE_S, "write_timeout": PATIENCE_S}}

    @staticmethod
    def listen(engine: sa.Engine, *, reading: bool) -> None:
        driver = loading.load(_Mariadb.DRIVER)
        isolation = "REPEATABLE READ, READ ONLY" if reading else "READ COMMITTED"

        def set_up(connection: Any, _record: object) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
                # As everywhere else, what an UPDATE reads is the row as it was. And a long list of ids stays a list.
                cursor.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,SIMULTANEOUS_ASSIGNMENT', "
                               f"innodb_lock_wait_timeout = {LOCK_S}, idle_transaction_timeout = {SILENCE_S}, "
                               "in_predicate_conversion_threshold = 0, time_zone = '+00:00'")
                cursor.execute("SELECT @@max_allowed_packet")
                (connection.most_bytes,) = cursor.fetchone()

        sa.event.listen(engine, "do_connect", lambda _dialect, _record, given, named: driver.connect(*given, **named))
        sa.event.listen(engine, "connect", set_up)


_SET_UPS: dict[str, type[_Sqlite] | type[_Postgresql] | type[_Mariadb]] = {
    "sqlite": _Sqlite, "postgresql": _Postgresql, "mysql": _Mariadb,
}
