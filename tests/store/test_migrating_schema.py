"""A database that an older version has made gets what is missing."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store import tables as t
from isotherm.store.database import connect, schema
from isotherm.store.database.writer import ThreadedStore
from tests import databases

INDEX = next(one for one in t.resources.indexes if one.name == "ix_resources_physical_id")


def test_the_index_on_physical_ids_is_added(tmp_path):
    url = databases.url_of(tmp_path)
    ThreadedStore.open(url).close()
    engine = sa.create_engine(connect.parsed(url), poolclass=sa.NullPool)
    with engine.begin() as connection:
        INDEX.drop(connection)
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0001'"))
    ThreadedStore.open(url).close()
    with engine.connect() as connection:
        assert INDEX.name in {one["name"] for one in sa.inspect(connection).get_indexes("resources")}
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() == schema.HEAD
