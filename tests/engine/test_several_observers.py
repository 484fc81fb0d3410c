"""Several observers share the work, one that dies is replaced, and not everything is looked at in the same moment."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from isotherm.observer.service import Tuning
from tests.engine.conftest import Lab, Tell
from tests.engine.local_stage import file
from tests.engine.test_observer import OFTEN, QUICK, becomes, options, until

pytestmark = [pytest.mark.ledger("S1.5"), pytest.mark.usefixtures("base")]


def test_looks_are_spread_over_time(lab: Tell, tmp_path: Path) -> None:
    """Stacks that are looked at together now are not looked at together for ever."""
    options(tmp_path, observer_interval=1000, observer_jitter=0.2, observer_rate=0)

    async def story(it: Lab) -> None:
        names = [f"s{number}" for number in range(8)]
        for name in names:
            await it.end(await it.api.stacks.create(name, it.request({"f": file(name)})))
        async with it.engine.observing(QUICK):
            async def all_seen() -> bool:
                return all([(await it.api.drift.show(name))["observed_time"] for name in names])

            await until(all_seen)
            waits = [await _wait(it, name) for name in names]
        assert all(800 - 5 <= wait <= 1200 + 5 for wait in waits), waits
        assert max(waits) - min(waits) > 50, waits

    lab(story)


async def _wait(it: Lab, name: str) -> float:
    told = await it.api.drift.show(name)
    began, ends = (datetime.fromisoformat(told[key]) for key in ("observed_time", "next_time"))
    return (ends - began).total_seconds()


def test_two_share_the_work(lab: Tell, tmp_path: Path) -> None:
    options(tmp_path, observer_interval=0.05, observer_rate=0)

    async def story(it: Lab) -> None:
        for number in range(6):
            await it.end(await it.api.stacks.create(f"s{number}", it.request({"f": file(f"f{number}")})))
        one_each = Tuning(lease_s=5.0, idle_s=0.02, enrol_s=0.05, beat_s=0.1, concurrency=1)
        async with it.engine.observing(one_each), it.engine.observing(one_each):
            async def both_look() -> bool:
                found = await it.engine.store.read(lambda connection: connection.exec_driver_sql(
                    "SELECT observations FROM observers WHERE name != ''").all())
                return len(found) == 2 and all(row[0] > 10 for row in found)

            await until(both_look)

    lab(story)


def test_two_share_the_work_and_one_that_dies_is_replaced(
    lab: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file()})
        dead = Tuning(lease_s=0.5, idle_s=0.02, enrol_s=0.05)
        async with it.engine.observing(dead):
            await becomes(it, "config", "in_sync")
            one = it.engine._observer
            assert one is not None
            hangs = asyncio.Event()

            async def look(watch: Any) -> None:
                hangs.set()
                await asyncio.Event().wait()

            # It hangs with its lease, as one that was stopped.
            monkeypatch.setattr(one, "_observe_stack", look)
            await hangs.wait()
            path.unlink()
            async with it.engine.observing(dead):
                await becomes(it, "config", "gone")

    lab(story)
