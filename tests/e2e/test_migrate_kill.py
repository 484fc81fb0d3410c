"""A kill -9 of `heat-manage migrate-convergence-1` at any moment: each tree is migrated or as it was, and none is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from isotherm.engine.orchestrator import Request
from isotherm.engine.process.embedded import Embedded
from isotherm.resources.reality.journal import JournalReality
from isotherm.store import tables as t
from tests.e2e.conftest import MANAGE, Home

# `make migrate-torture` has a hundred.
KILLS = int(os.environ.get("ISOTHERM_KILLS", "15"))
STACKS = 4 * KILLS
LEAF = """
heat_template_version: 2021-04-16
parameters: {value: {type: string}}
resources:
  inner: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
"""
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  a: {type: OS::Heat::TestResource, properties: {value: one}}
  b: {type: OS::Heat::TestResource, properties: {value: {get_attr: [a, output]}}}
  c: {type: leaf.yaml, properties: {value: {get_attr: [b, output]}}}
"""
REQUEST = Request(TEMPLATE, {"leaf.yaml": LEAF})


async def make_stacks(engine: Embedded) -> None:
    async with engine.driving():
        for number in range(STACKS):
            await engine.orchestrator.stacks.create(f"s{number:03}", REQUEST)
        await at_rest(engine)


async def at_rest(engine: Embedded) -> None:
    async with asyncio.timeout(300):
        while {one["status"] for one in await engine.orchestrator.stacks.list()} != {"COMPLETE"}:
            await asyncio.sleep(0.05)


def start(home: Home) -> subprocess.Popen[str]:
    return subprocess.Popen([*MANAGE, "migrate-convergence-1", "--all", "--json"], env=home.environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def rows(folder: Path, *tables: sa.Table) -> list[list[dict[str, Any]]]:
    """Whole tables, all of them at one moment."""
    engine = sa.create_engine(f"sqlite:///{folder / 'isotherm.db'}", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN")
        return [[dict(row) for row in connection.execute(sa.select(table)).mappings()] for table in tables]


def left(folder: Path) -> int:
    """How many stacks are on the legacy path; no tree is half there."""
    found, made = rows(folder, t.stacks, t.operations)
    stacks, operations = {row["id"]: row for row in found}, {row["id"]: row["stack_id"] for row in made}
    for row in found:
        assert row["owner_id"] is None or row["convergence"] == stacks[row["owner_id"]]["convergence"]
        assert operations[row["operation_id"]] == row["id"]
    return sum(not row["convergence"] for row in found)


def owned(folder: Path) -> set[tuple[int, str]]:
    (found,) = rows(folder, t.resources)
    return {(row["id"], row["physical_id"]) for row in found}


@pytest.mark.long
@pytest.mark.ledger("S4.4")
def test_kills_at_random_moments_lose_nothing(home: Home) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    print(f"SEED={seed}")  # noqa: T201 - whoever finds a failure wants to see it again
    dice = random.Random(seed)
    home.folder.mkdir()
    (home.folder / "isotherm.conf").write_text("[DEFAULT]\nconvergence_engine = false\n")
    with contextlib.closing(Embedded(home.folder)) as engine:
        asyncio.run(make_stacks(engine))
    made = (home.folder / "reality.journal").read_bytes()
    whole = owned(home.folder)
    assert len(whole) == 4 * STACKS and left(home.folder) == 2 * STACKS
    killed, between = 0, 0
    for _ in range(KILLS):
        before = left(home.folder)
        killed += kill_somewhere(home, before, dice)
        between += left(home.folder) not in (0, 2 * STACKS)
        assert owned(home.folder) == whole
    assert killed == KILLS, "it was done before it could be killed"
    assert between, "no kill came while it was at work"
    with start(home) as last:
        out, _ = last.communicate(timeout=120)
    assert last.returncode == 0, out
    assert left(home.folder) == 0
    assert (home.folder / "reality.journal").read_bytes() == made
    assert owned(home.folder) == whole
    with contextlib.closing(Embedded(home.folder)) as engine:
        asyncio.run(live_on(engine))
    assert all(row["tomb"] for row in rows(home.folder, t.stacks)[0])
    assert existing(home) == set()


def kill_somewhere(home: Home, before: int, dice: random.Random) -> bool:
    """Kill it soon after it has begun to work, or while it starts; whether it was killed before it ended by itself."""
    with start(home) as process:
        try:
            if dice.random() < 0.2:
                time.sleep(dice.uniform(0, 0.5))
            else:
                deadline = time.monotonic() + 60
                while left(home.folder) == before and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.005)
                time.sleep(dice.uniform(0, 0.02))
        finally:
            process.kill()
        process.communicate()
    return process.returncode == -9


async def live_on(engine: Embedded) -> None:
    """A no-op update of each stack changes nothing; then all of them are deleted."""
    async with engine.driving():
        last = max(row["id"] for row in rows(engine.path, t.events)[0])
        for one in await engine.orchestrator.stacks.list():
            await engine.orchestrator.stacks.update(one["id"], REQUEST)
        await at_rest(engine)
        assert {row["name"] for row in rows(engine.path, t.events)[0] if row["id"] > last} == {""}
        for one in await engine.orchestrator.stacks.list():
            await engine.orchestrator.stacks.delete(one["id"])
        async with asyncio.timeout(300):
            while await engine.orchestrator.stacks.list():
                await asyncio.sleep(0.05)


def existing(home: Home) -> set[str]:
    with contextlib.closing(JournalReality(home.folder / "reality.journal")) as reality:
        return set(reality.objects)
