"""Plain types in the simulator: they run on threads, one at a time, and are deterministic."""

from __future__ import annotations

import threading

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories, history


def _with(word: str, most: int) -> list[history.History]:
    drawn = (drawn_histories.draw(seed) for seed in range(400))
    return [one for one in drawn if word in repr(one.requests)][:most]


def test_histories_have_plain_types_and_are_told_the_same_again() -> None:
    found = _with("Sim::Plain", 8)
    assert len(found) == 8
    for one in found:
        first, second = run.play(one), run.play(one)
        assert first.well, first.violations
        assert first.lines == second.lines


def test_no_thread_is_left_of_a_world_that_ended() -> None:
    before = set(threading.enumerate())
    for one in _with("Sim::Plain", 8):
        run.play(one)
    # Threads of other tests may end meanwhile.
    assert set(threading.enumerate()) <= before


def test_users_are_told_of_what_cannot_be_found() -> None:
    """The story of a lost answer: it is told, the user looks, and what is wanted in the end is reached."""
    told = 0
    for one in _with("Sim::Blind", 30):
        world = run.Run(one)
        assert world.play().well, world.witness.violations
        told += world.witness.lost
    assert told > 0
