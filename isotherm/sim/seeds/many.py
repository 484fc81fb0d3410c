"""Many seeds, on all cores: what they broke, and what they hit."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from isotherm.sim import run
from isotherm.sim.histories import history
from isotherm.sim.seeds import players

# How many seeds a process is given at a time.
_CHUNK = 8


@dataclass(slots=True)
class Result:
    """What came of one seed, without its history: that can be had again at any time."""

    seed: int
    violations: list[str]
    hit: Counter[tuple[str, str]]
    virtual_s: float
    steps: int
    commits: int


@dataclass(slots=True)
class Tally:
    """What came of many."""

    seeds: int = 0
    virtual_s: float = 0.0
    steps: int = 0
    commits: int = 0
    hit: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: list[Result] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def add(self, result: Result) -> None:
        self.seeds += 1
        self.virtual_s += result.virtual_s
        self.steps += result.steps
        self.commits += result.commits
        self.hit.update(result.hit)
        if result.violations:
            self.failed.append(result)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def as_dict(self) -> dict[str, object]:
        return {
            "seeds": self.seeds, "virtual_hours": round(self.virtual_s / 3600, 2), "steps": self.steps,
            "commits": self.commits, "seconds": round(self.seconds, 2),
            "seeds_per_second": round(self.seeds / max(self.seconds, 0.001), 1),
            "faults": sum(self.hit.values()), "fault_hook_pairs": len(self.hit),
            "hit": [{"fault": fault, "hook": hook, "count": count} for (fault, hook), count in sorted(self.hit.items())],
            "failed": [{"seed": one.seed, "violations": one.violations} for one in self.failed],
        }


def one(seed: int) -> Result:
    outcome = run.play(history.draw(seed))
    return Result(seed, outcome.violations, outcome.hit, outcome.virtual_s, outcome.steps, outcome.commits)


def play(seeds: Iterable[int], jobs: int) -> Iterator[Result]:
    """The results, as they come; of seeds without end, too. With one job everything runs in this process."""
    if jobs == 1:
        yield from map(one, seeds)
        return
    todo = iter(seeds)
    chunks = iter(lambda: list(itertools.islice(todo, _CHUNK)), [])
    for results in players.play(_some, chunks, jobs):
        yield from results


def _some(seeds: list[int]) -> list[Result]:
    return [one(seed) for seed in seeds]


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
