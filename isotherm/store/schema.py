"""Brings a database to the schema of this version of the code, by alembic's migrations.

Alembic is slow to import, and a command that finds its database up to date must not pay for it: the revision is read
first, and alembic is called only when it differs.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import sqlalchemy as sa

from isotherm import errors

# The newest file under migrations/versions; a test holds the two together.
HEAD = "0001"


def revision(engine: sa.Engine) -> str | None:
    # Looking takes no lock: a command that only reads must not wait for one that writes.
    with engine.execution_options(readonly=True).connect() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def migrate(engine: sa.Engine) -> None:
    """Upgrade to HEAD. Several processes may start at once: the loser of the race finds the work done."""
    try:
        found = revision(engine)
    except sa.exc.DatabaseError as error:
        raise errors.UserError(f"{engine.url.database}: {error.orig}", kind="NotFound",
                               hint="Is it a database of Isotherm, and may you write to it?") from error
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        raise errors.UserError(f"{engine.url.database} was made by a newer version of Isotherm.", kind="NotSupported",
                               hint=f"Its schema is {found}; this version knows {HEAD}.")
    command = importlib.import_module("alembic.command")
    config = importlib.import_module("alembic.config").Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
