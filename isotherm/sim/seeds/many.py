"""Results of many seeds, played on all cores: violations, and the faults that struck."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from isotherm.sim import run
from isotherm.sim.histories import drawn_histories
from isotherm.sim.seeds import players

# Number of seeds that a process gets at a time.
_CHUNK = 8


@dataclass(slots=True)
class SeedResult:
    """The result of one seed, without its history, which can be drawn again."""

    seed: int
    violations: list[str]
    hit: Counter[tuple[str, str]]
    virtual_s: float
    steps: int
    commits: int


@dataclass(slots=True)
class Tally:
    """The sums of many results."""

    seeds: int = 0
    virtual_s: float = 0.0
    steps: int = 0
    commits: int = 0
    hit: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: list[SeedResult] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def add(self, result: SeedResult) -> None:
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


def one(seed: int) -> SeedResult:
    outcome = run.play(drawn_histories.draw(seed))
    return SeedResult(seed, outcome.violations, outcome.hit, outcome.virtual_s, outcome.steps, outcome.commits)


def play(seeds: Iterable[int], jobs: int) -> Iterator[SeedResult]:
    """Yield the results in the order of the seeds, which may be endless. With one job, run them in this process."""
    if jobs == 1:
        yield from map(one, seeds)
        return
    todo = iter(seeds)
    chunks = iter(lambda: list(itertools.islice(todo, _CHUNK)), [])
    for results in players.play(_some, chunks, jobs):
        yield from results


def _some(seeds: list[int]) -> list[SeedResult]:
    return [one(seed) for seed in seeds]


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
