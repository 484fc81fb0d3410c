"""The observer looks at real files and processes, tells what drifted, and has mended what is to be."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from isotherm.engine.observer.service import Tuning
from isotherm.resources.local import confinement, keeping
from isotherm.store import watch_views
from tests.engine.conftest import PATIENCE_S, Lab, resource
from tests.engine.local_stage import file, folder, process

pytestmark = [pytest.mark.ledger("S1.4"), pytest.mark.usefixtures("base")]

# Looks so seldom by itself that whatever is seen was hinted at, or asked for.
SELDOM = {"observer_interval": 3600}
OFTEN = {"observer_interval": 0.05, "observer_rate": 0}
QUICK = Tuning(lease_s=5.0, idle_s=0.02, enrol_s=0.05)


def options(path: Path, **told: Any) -> None:
    path.mkdir(parents=True, exist_ok=True)
    (path / "isotherm.conf").write_text("[DEFAULT]\n" + "".join(f"{name} = {value}\n" for name, value in told.items()))


@contextlib.asynccontextmanager
async def observed(it: Lab, policy: str | None = None, **more: Any) -> AsyncIterator[None]:
    """The stack of the lab, under a policy, with an observer at work."""
    if policy is not None or more:
        await it.api.set_watch("s", policy=policy, **more)
    async with it.engine.observing(QUICK):
        yield


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.02)


async def seen(it: Lab, name: str) -> str:
    return str((await it.api.resource_drift("s", name))["drift"])


async def told(it: Lab, name: str) -> list[str]:
    found = await it.api.events("s", last=1000)
    return [one["resource_status_reason"] for one in found
            if one["resource_name"] == name and one["resource_status"] == "OBSERVE_COMPLETE"]


async def becomes(it: Lab, name: str, word: str) -> None:
    async def is_so() -> bool:
        return await seen(it, name) == word

    await until(is_so)


def test_drift_is_told_once_when_it_comes_and_once_when_it_goes(lab, tmp_path):
    options(tmp_path, **OFTEN)
    path = tmp_path / "local" / "a.txt"

    async def story(it: Lab) -> None:
        await it.create({"config": file(content="as it should be"), "other": file("b.txt")})
        async with observed(it):
            await becomes(it, "config", "in_sync")
            path.write_text("as somebody else likes it")
            await becomes(it, "config", "drifted")
            view = await it.api.resource_drift("s", "config")
            assert view["properties"] == [{"property": "content", "wanted": "as it should be", "change_pending": False,
                                           "applied": "as it should be", "live": "as somebody else likes it"}]
            assert view["drifted_since"] is not None
            path.unlink()
            await becomes(it, "config", "gone")
            whole = await it.api.drift("s")
            assert (whole["drift"], whole["policy"]) == ("drifted", "report")
            assert whole["counts"] == {"in_sync": 1, "drifted": 0, "gone": 1, "unseen": 0}
            assert [one["resource_name"] for one in whole["resources"]] == ["config"]
            path.write_text("as it should be")
            await becomes(it, "config", "in_sync")
            assert await told(it, "config") == ["Drift seen: content", "Drift is gone"]
        assert (await it.api.show("s"))["generation"] == 1, "report changes nothing"

    lab(story)


def test_what_drifts_is_mended_and_nothing_else_is_touched(lab, tmp_path):
    options(tmp_path, **OFTEN)
    base = tmp_path / "local"

    async def story(it: Lab) -> None:
        await it.create({"d": folder(), "config": file("d/c", "right", needs=["d"]), "other": file("d/o", needs=["d"]),
                         "server": {**process(), "depends_on": ["config"]}})
        async with observed(it, "repair"):
            (base / "d/c").write_text("wrong")
            await until(_is(lambda: (base / "d/c").read_text() == "right"))
            (base / "d/c").unlink()
            await until(_is(lambda: (base / "d/c").exists()))
            [old] = _running(base)
            os.kill(old, signal.SIGKILL)
            await until(_is(lambda: bool(_running(base) - {old})))
            for name in ("config", "server"):
                await becomes(it, name, "in_sync")
        stack = await it.api.show("s")
        assert stack["stack_status"] == "UPDATE_COMPLETE"
        assert await it.history("d") == await it.history("other") == ["CREATE_IN_PROGRESS", "CREATE_COMPLETE"]
        assert (await told(it, "config"))[:2] == ["Drift seen: content", "Drift is gone"]
        await it.delete()

    lab(story)


def _is(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        with contextlib.suppress(OSError):
            return condition()
        return False

    return asked


def _running(base: Path) -> set[int]:
    found = [keeping.state(confinement.Confined(base), one.stem) for one in base.glob(".isotherm/processes/*.json")]
    return {one.child[0] for one in found if one is not None and one.is_running and one.child is not None}
