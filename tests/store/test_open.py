"""Opening a database: by several processes at once, half migrated, and across a restart of the server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from isotherm.store import tables as t
from isotherm.store.database import connect, schema
from isotherm.store.database.writer import ThreadedStore
from tests import databases
from tests.store.proxy import Proxy
from tests.store.test_lost import Telling, through, write
from tools.services import Keeper
from tools.services.keeper import guarded

OPEN = "import sys; from isotherm.store.database.writer import ThreadedStore; ThreadedStore.open(sys.argv[1]).close()"


def is_whole(url: str) -> None:
    engine = sa.create_engine(connect.parsed(url), poolclass=sa.NullPool)
    with engine.connect() as connection:
        assert set(sa.inspect(connection).get_table_names()) == {*t.metadata.tables, "alembic_version"}
        assert connection.execute(sa.select(t.turns)).all() == [(1,)]
        assert connection.execute(sa.select(t.sequences)).all() == [("ids", 1)]
        assert connection.execute(sa.text("SELECT version_num FROM alembic_version")).all() == [(schema.HEAD,)]


def test_several_open_an_empty_database_at_once() -> None:
    url = databases.pool().empty()
    opening = [subprocess.Popen([sys.executable, "-c", OPEN, url], stderr=subprocess.PIPE, text=True) for _ in range(3)]
    told = [one.communicate(timeout=120)[1] for one in opening]
    assert [one.returncode for one in opening] == [0, 0, 0], told
    is_whole(url)


def test_a_half_built_database_is_completed() -> None:
    """Where each table is committed by itself, one that was killed meanwhile leaves some behind."""
    url = databases.pool().empty()
    some = [t.stacks, t.turns, t.watches, t.sequences]
    t.metadata.create_all(sa.create_engine(connect.parsed(url), poolclass=sa.NullPool), tables=some)
    ThreadedStore.open(url).close()
    is_whole(url)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Keeper]:
    """One of our own: others are at work on those of all tests."""
    keeper = Keeper(tmp_path / "services", sync=False)
    with guarded(tmp_path / "services"):
        keeper.up([databases.ON])
        yield keeper
        keeper.down(forget=True)


def test_the_server_is_restarted(server: Keeper) -> None:
    """What was acknowledged is there; what is written meanwhile is there once, or its writer was told that it is not."""
    running = server.status()[databases.ON]
    ports = [running.port]
    way = Proxy(lambda: ports[0])
    store = ThreadedStore.open(through(running.url, way))
    stop, acknowledged = threading.Event(), []

    def work() -> None:
        for number in range(100_000):
            if stop.is_set():
                return
            if isinstance(write(store, Telling(str(number)))[0], str):
                acknowledged.append(number)

    thread = threading.Thread(target=work)
    thread.start()
    while len(acknowledged) < 20:
        time.sleep(0.01)
    server.down([databases.ON])
    ports[0] = server.up([databases.ON])[databases.ON].port
    before = len(acknowledged)
    until = time.monotonic() + 240
    while len(acknowledged) < before + 20:
        assert time.monotonic() < until
        time.sleep(0.01)
    stop.set()
    thread.join(60)
    query = sa.select(t.events.c.reason).order_by(t.events.c.id)
    found = asyncio.run(store.read(lambda connection: list(connection.execute(query).scalars())))
    assert len(found) == len(set(found))
    assert {f"{number}, second" for number in acknowledged} <= set(found)
    store.close()
    way.close()
