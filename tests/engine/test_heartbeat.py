"""The heartbeat of processes, on each database, by the time of the database."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import isotherm
from isotherm.engine.admin import housekeeping
from isotherm.engine.process import heartbeat, service_list
from isotherm.engine.process.embedded import Embedded
from isotherm.engine.process.heartbeat import Heartbeat, Load, Registration
from isotherm.engine.process.home import Folder
from isotherm.states import ServiceKind
from isotherm.store import tables as t
from isotherm.store.admin import services
from tests import databases

IDLE = Load()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with contextlib.closing(Folder(tmp_path)) as it:
        yield it


@contextlib.asynccontextmanager
async def present(folder: Folder, kind: ServiceKind, load: Load = IDLE) -> AsyncIterator[Registration]:
    heartbeat = Heartbeat(folder.store, folder.clock, folder.path)
    one = await heartbeat.join(kind, lambda: load)
    yield one
    await heartbeat.leave(one)


async def elsewhere(folder: Folder, name: str, *, ago_s: float) -> None:
    """A process of another host, of which there is a row and nothing else."""
    now = time.time()
    row = services.Service(heartbeat.id_of(name), name, ServiceKind.ENGINE, "far", 7, now - 1000, now - ago_s, 3, 5, "0")
    await folder.store.write(lambda connection: services.beat(connection, [row]))


async def status(folder: Folder) -> dict[str, bool]:
    return {one.service.name: one.alive for one in await service_list.list_all(folder)}


def test_each_is_listed_with_its_load_while_it_is_there(folder: Folder) -> None:
    async def play() -> None:
        async with present(folder, ServiceKind.API), present(folder, ServiceKind.ENGINE, Load(2, 9)) as engine:
            found = await service_list.list_all(folder)
            assert [one.service.kind for one in found] == [ServiceKind.API, ServiceKind.ENGINE]
            (one,) = await service_list.engines(folder)
            assert (one.alive, one.service.name) == (True, engine.name)
            assert (one.service.load, one.service.leases, one.service.version) == (2, 9, isotherm.__version__)
        assert await service_list.list_all(folder) == []

    asyncio.run(play())


def test_a_heartbeat_says_it_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "PERIOD_S", 0.02)

    async def play() -> None:
        async with present(folder, ServiceKind.OBSERVER) as one:
            first = (await service_list.list_all(folder))[0].service.seen_at
            # Its row was deleted by mistake: the process was only slow.
            await folder.store.write(lambda connection: services.forget(connection, [heartbeat.id_of(one.name)]))
            async with asyncio.timeout(60):
                while (await service_list.list_all(folder))[0].service.seen_at <= first or not (
                    await folder.store.read(services.read)
                ):
                    await asyncio.sleep(0.02)

    asyncio.run(play())


def test_a_process_without_heartbeat_is_down_and_forgotten_after_a_day(folder: Folder) -> None:
    async def play() -> None:
        await elsewhere(folder, "lately", ago_s=service_list.PATIENCE_S - 10)
        await elsewhere(folder, "once", ago_s=service_list.PATIENCE_S + 1)
        await elsewhere(folder, "long-ago", ago_s=services.KEPT_S - 1)
        assert await status(folder) == {"lately": True, "once": False, "long-ago": False}
        await folder.store.write(lambda connection: connection.execute(
            sa.update(t.services).where(t.services.c.name == "long-ago").values(seen_at=1.0)))
        async with present(folder, ServiceKind.API) as api:
            assert set(await status(folder)) == {"lately", "once", api.name}
        assert await housekeeping.clean_services(folder) == ["once"]
        assert await status(folder) == {"lately": True}

    asyncio.run(play())


def test_a_lock_knows_better_than_a_row(folder: Folder) -> None:
    """A killed process of this home is down at once, and stays down when its lock is deleted."""
    async def play() -> None:
        await elsewhere(folder, "killed", ago_s=0)
        assert await status(folder) == {"killed": True}
        (folder.path / "workers").mkdir(exist_ok=True)
        (folder.path / "workers" / "killed.lock").touch()
        assert await status(folder) == {"killed": False}
        async with present(folder, ServiceKind.ENGINE) as other:
            assert not (folder.path / "workers" / "killed.lock").exists()
            assert await status(folder) == {"killed": False, other.name: True}

    asyncio.run(play())


def test_a_dead_process_is_noticed_by_the_others(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "PERIOD_S", 0.02)

    async def play() -> None:
        async with present(folder, ServiceKind.ENGINE) as engine:
            await elsewhere(folder, "killed", ago_s=0)
            lock = folder.path / "workers" / "killed.lock"
            lock.touch()
            async with asyncio.timeout(60):
                while lock.exists():
                    await asyncio.sleep(0.02)
            assert await status(folder) == {"killed": False, engine.name: True}

    asyncio.run(play())


def test_an_engine_tells_what_it_holds(tmp_path: Path) -> None:
    async def play() -> None:
        with contextlib.closing(Embedded(tmp_path)) as engine:
            async with engine.driving(), engine.observing():
                found = {one.service.kind: one for one in await service_list.list_all(engine)}
                assert set(found) == {ServiceKind.ENGINE, ServiceKind.OBSERVER}
                assert found[ServiceKind.ENGINE].service.leases == 0
            assert await service_list.list_all(engine) == []

    asyncio.run(play())


def test_the_time_is_that_of_the_database(folder: Folder) -> None:
    found = asyncio.run(folder.store.read(services.clock_offset))
    assert found.error_s < 1
    # It is on this very machine.
    assert abs(found.by_s) <= found.error_s + 0.1
    if databases.ON == "sqlite":
        assert found == (0.0, 0.0)


def test_a_clock_that_is_wrong_is_set_right_and_told(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        heartbeat = Heartbeat(folder.store, folder.clock, folder.path)
        for hours in (1, 1, -2):
            asked = sa.text(f"SELECT {time.time() + 3600 * hours!r}")
            monkeypatch.setattr(services, "_TIMES", dict.fromkeys(("sqlite", "postgresql", "mysql", "mariadb"), asked))
            await heartbeat.set_clock()
            assert folder.clock.now() - time.time() == pytest.approx(3600 * hours, abs=0.9)
        # What is shown goes by the same time.
        async with present(folder, ServiceKind.API):
            assert [one.alive for one in await service_list.list_all(folder)] == [True]

    with caplog.at_level(logging.WARNING):
        asyncio.run(play())
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


def test_what_the_measurement_cannot_tell_moves_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        heartbeat = Heartbeat(folder.store, folder.clock, folder.path)
        monkeypatch.setattr(services, "clock_offset", lambda connection: services.ClockOffset(0.2, 0.3))
        await heartbeat.set_clock()
        assert folder.clock.skew == 0.0
        monkeypatch.setattr(services, "clock_offset", lambda connection: services.ClockOffset(0.2, 0.1))
        await heartbeat.set_clock()
        assert folder.clock.skew == 0.2

    asyncio.run(play())


def test_rows_are_told_apart_by_their_process() -> None:
    assert heartbeat.new_name() != heartbeat.new_name()
    assert heartbeat.id_of("a") == heartbeat.id_of("a") != heartbeat.id_of("b")
