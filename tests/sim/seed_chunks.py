"""Plays the histories of a chunk of seeds; tells a shrunk story of the first that breaks an invariant."""

from __future__ import annotations

from collections.abc import Callable

from isotherm.sim import run
from isotherm.sim.histories.history import History
from isotherm.sim.seeds import shrink

CHUNK = 25


def check(history: Callable[[int], History], first: int) -> None:
    """Assert that no history of the chunk breaks an invariant."""
    broken = [seed for seed in range(first, first + CHUNK) if not run.play(history(seed)).well]
    assert not broken, _story(history, broken[0])


def _story(history: Callable[[int], History], seed: int) -> str:
    drawn = history(seed)
    small = shrink.shrink(drawn, run.play(drawn), seconds=20.0)
    return "\n".join([f"seed {seed} broke {small.outcome.violations[0]}", *small.outcome.lines])
