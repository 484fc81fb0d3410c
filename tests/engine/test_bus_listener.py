"""A hint wakes a worker for an operation that another process accepted, long before its next poll."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path

from isotherm.engine.process import file_listener
from isotherm.engine.process.embedded import Embedded
from tests import patience
from tests.engine.conftest import PATIENCE_S, Lab, Tell, resource


def test_a_worker_is_woken_for_the_operations_of_others(lab: Tell) -> None:
    async def story(it: Lab) -> None:
        worker = it.engine._worker
        assert worker is not None
        worker._tuning = dataclasses.replace(worker._tuning, idle_s=1000.0)
        await worker.take_turn()
        # From here on it looks when it hears of something, or in a thousand seconds.
        await asyncio.sleep(0)
        listening = asyncio.create_task(it.engine.listen())
        await asyncio.sleep(0)  # it knows what the file is like before the other process writes
        with contextlib.closing(Embedded(it.engine.path)) as other:
            request = it.request({"a": resource(), "b": resource(needs=["a"])})
            accepted = await other.orchestrator.stacks.create("s", request)
        assert (await it.end(accepted))["stack_status"] == "CREATE_COMPLETE"
        listening.cancel()

    lab(story)


def test_nothing_is_told_when_nothing_is_written(tmp_path: Path) -> None:
    async def story() -> None:
        told: list[int] = []
        file = tmp_path / "x.db"
        listening = asyncio.create_task(file_listener.watch(file, lambda: told.append(1)))

        async def is_silent() -> bool:
            return told == []

        await patience.stays(is_silent, file_listener.PERIOD_S * 4)
        (tmp_path / "x.db-wal").write_text("something")
        async with asyncio.timeout(PATIENCE_S):
            while not told:
                await asyncio.sleep(0.01)
        listening.cancel()

    asyncio.run(story())
