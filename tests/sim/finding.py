"""Which seed finds which seeded bug. It is remembered beside this file, so that a test run need not search for it.

    .venv/bin/python tests/sim/finding.py    search for those bugs that the remembered seed does not find any more

A change of the engine or of the simulator makes other histories of the same seeds. The tests search then as well, among
fewer seeds: whoever sees them search for long runs this.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import bugs
import bugs_of_life
import bugs_of_observer
import bugs_of_outcome
import pytest

from isotherm.sim import history, run

REMEMBERED = Path(__file__).with_name("found.json")
OF_ENGINE = {**bugs.BUGS, **bugs_of_outcome.BUGS, **bugs_of_life.BUGS}
OF_OBSERVER = bugs_of_observer.BUGS
# The tests search among so many, and this program among more.
SEEDS, MANY_SEEDS = 2000, 20_000


def found(name: str, patch: pytest.MonkeyPatch, seeds: int = SEEDS) -> int | None:
    """The seed that finds the bug: the remembered one, or the first; None if none of so many does."""
    (OF_ENGINE | OF_OBSERVER)[name](patch)
    known = remembered().get(name)
    tries = [known] if known is not None else []
    drawn = map(history.draw, [*tries, *range(seeds)])
    if name in OF_OBSERVER:
        drawn = (one for one in drawn if one.watched.observers)
    return next((one.seed for one in drawn if not run.play(one).well), None)


def remembered() -> dict[str, int]:
    known: dict[str, int] = json.loads(REMEMBERED.read_text()) if REMEMBERED.exists() else {}
    return known


def _search(name: str) -> tuple[int | None, float]:
    began = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        return found(name, patch, MANY_SEEDS), time.monotonic() - began


def main() -> int:
    known, names = remembered(), sorted(OF_ENGINE | OF_OBSERVER)
    # Each in a process of its own: what one bug has changed is no other's.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=fresh, max_tasks_per_child=1) as pool:
        tasks = {pool.submit(_search, name): name for name in names}
        for number, done in enumerate(as_completed(tasks), 1):
            seed, seconds = done.result()
            sys.stdout.write(f"{number} of {len(tasks)}: {tasks[done]}: {seed} ({seconds:.0f} s)\n")
            sys.stdout.flush()
            known.pop(tasks[done], None)
            known |= {} if seed is None else {tasks[done]: seed}
            kept = {name: known[name] for name in names if name in known}
            REMEMBERED.write_text(json.dumps(kept, indent=1) + "\n")
    return int(not known.keys() >= set(names))


if __name__ == "__main__":
    sys.exit(main())
