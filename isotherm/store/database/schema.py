"""Brings a database to the schema of this version of the code, by alembic's migrations.

Alembic is slow to import, and a command that finds its database up to date must not pay for it: the revision is read
first, and alembic is called only when it differs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from isotherm import errors, loading

# The newest file under migrations/versions; a test holds the two together.
HEAD = "0014"
# The number of the advisory lock for migrations: arbitrary, used for nothing else.
_LOCK = 7_316_402
_PATIENCE_S = 300


def revision(engine: sa.Engine) -> str | None:
    """Return the schema revision of the database, None if it is empty. With a reading engine it takes no lock."""
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def migrate(engine: sa.Engine, reader: sa.Engine) -> None:
    """Upgrade to HEAD. Several processes may start at once: the loser of the race finds the work done."""
    try:
        found = revision(reader)
    except sa.exc.DatabaseError as error:
        raise errors.UserError(f"{engine.url.database}: {error.orig}", kind="NotFound", hint=_advice(engine.url)) from error
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        if is_compatible(found, HEAD):
            return
        raise errors.UserError(f"{engine.url.database} was made by a newer version of Isotherm.", kind="NotSupported",
                               hint=f"Its schema is {found}; this version knows {HEAD}.")
    command = loading.load("alembic.command")
    config = loading.load("alembic.config").Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection, _alone(connection):
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _advice(where: sa.URL) -> str:
    if where.host is None:
        return "Is it a database of Isotherm, and may you write to it?"
    return f"Does the server run at {where.host}, has it this database, and are user and password right?"


def is_compatible(found: str, known: str) -> bool:
    """Return whether code of the schema `known` works on the newer schema `found`.

    A revision has a number and, after an underscore, the number of the oldest schema whose code works on it: code of 0006
    works on `0007_0006`. So a release only adds columns; unused ones are removed in the release after it.
    """
    number, _, oldest = found.partition("_")
    return known.partition("_")[0] >= (oldest or number)


@contextlib.contextmanager
def _alone(connection: sa.Connection) -> Iterator[None]:
    """Keep other processes from migrating at the same time. On SQLite the write lock does that."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_PATIENCE_S}s'")
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    if connection.dialect.name != "mysql":
        yield
        return
    if not connection.execute(sa.select(sa.func.get_lock(str(_LOCK), _PATIENCE_S))).scalar():
        raise errors.Unavailable("Another process has been migrating the database for a long time.")
    try:
        yield
    finally:
        connection.execute(sa.select(sa.func.release_lock(str(_LOCK))))
