"""Limits on parallel steps hold through every crash of the seeds' histories, and no step waits for ever."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from isotherm.config import Settings
from isotherm.engine.steps.ports import EnginePorts
from isotherm.sim import hosts, run
from isotherm.sim.checks.witness import Witness
from isotherm.sim.histories import drawn_histories
from isotherm.sim.world import processes
from isotherm.states import NodeState

SEEDS = 40
CHUNK = 10
MOST = 2
LIMITED = Settings(max_parallel_steps_per_project=MOST, max_parallel_steps=("Sim::Thing=1",))


class Limits(Witness):
    """Counts the running steps after each unit of work."""

    most = 0
    reasons: set[str] = set()  # noqa: RUF012 - of all runs

    def ran(self, by: processes.Process | None) -> None:
        super().ran(by)
        nodes: list[Any] = self._database.read_table("nodes")
        running = [one for one in nodes if one.state == NodeState.RUNNING and (one.due or 0.0) > self.evidence.clock()]
        Limits.most = max(Limits.most, len(running))
        if len(running) > MOST:
            self.broken("I5", f"{len(running)} steps are under way: {[one.name for one in running]}")
        Limits.reasons |= {one.reason for one in nodes if one.reason and "most allowed" in one.reason}


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_nothing_breaks_where_little_is_done_at_once(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "EnginePorts", functools.partial(EnginePorts, settings=LIMITED))
    monkeypatch.setattr(run, "Witness", Limits)
    outcomes = [run.play(drawn_histories.draw(seed)) for seed in range(first, first + CHUNK)]
    broken = [one for one in outcomes if not one.well]
    assert not broken, "\n".join([f"seed {broken[0].seed} broke {broken[0].violations[0]}", *broken[0].lines])
    assert Limits.most == MOST, "they are used"
    assert len(Limits.reasons) > 1, Limits.reasons
