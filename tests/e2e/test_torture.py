"""The fault test of real processes, in short: each kind of fault once, on every database. The long form: `make torture`."""

from __future__ import annotations

import asyncio
import json
import os
import random
from pathlib import Path

import pytest

from tests import databases
from tests.long_form import ALL
from tools.services import Impossible
from tools.torture import run
from tools.torture.farm import NONE, SQLITE

OF_ENGINES = {"pause_engine", "kill_engine", "kill_api", "restart_everything"}
OF_SERVICES = {"kill_database", "kill_broker", "cut_database", "cut_broker", "purge_broker"}
# In a run on one database, that one; else all of them.
ON = ["sqlite", "postgresql", "mariadb"] if databases.ON == "sqlite" else [databases.ON]


@pytest.mark.long
@pytest.mark.ledger("S2.2", "S2.11", "S2.12", "S2.22")
@pytest.mark.parametrize("database", ON)
def test_whatever_fails_nothing_is_lost(tmp_path: Path, database: str) -> None:
    seed = int(os.environ.get("SEED", random.randrange(10**6)))
    print(f"SEED={seed}")  # noqa: T201 - whoever finds a failure wants to see it again
    (tmp_path / "run").mkdir()
    broker = NONE if database == SQLITE else "rabbitmq"
    wish = run.Options(tmp_path / "run", database, broker, stacks=12, seconds=120 if ALL else 20, seed=seed,
                    quiet_s=(0.2, 1.5), longest_cut_s=4, every_kind=True)
    try:
        outcome = asyncio.run(run.torture(wish, print))
    except Impossible as error:
        pytest.skip(f"NO SERVICES, SO NOT TESTED: {error}")
    print("\n".join(json.dumps(line) for line in outcome.lines()))  # noqa: T201
    assert outcome.problems == []
    assert outcome.faults.keys() == OF_ENGINES | (set() if database == SQLITE else OF_SERVICES)
    assert outcome.operations["accepted"]["update"] >= 10
