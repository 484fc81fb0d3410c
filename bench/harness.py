"""What all benchmarks share: measuring two things in one run, and saying what came of it.

A figure is a ratio wherever it can be: absolute seconds say more of the machine than of us. The two sides of a ratio
take turns in one process, so that a busy neighbour hurts both alike, and the figure is the median of the runs. Each
figure is one line of JSON on stdout; a reader at a terminal gets the same in words on stderr.

    report = harness.Report("template")
    report.ratio("plan / yaml", ours, theirs, limit=3.0)
    sys.exit(report.close())
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable

RUNS = 5


def seconds(work: Callable[[], object], *, cpu: bool = False) -> float:
    """How long one call takes; with `cpu`, how long the processor was at it, which a busy neighbour hardly changes.

    Rubbish of what came before is cleared away first; during the call the collector is on, as it is in production.
    """
    clock = time.process_time if cpu else time.perf_counter
    gc.collect()
    began = clock()
    work()
    return clock() - began


class Pace:
    """A clock that goes as fast as the machine does just now: the same small piece of work, done again and again.

    On a shared machine even processor time is worth more in one minute than in the next. What takes minutes and is to be
    compared with what takes seconds is told in ticks of this clock, which is asked all along.
    """

    _TEXT = json.dumps([{"name": f"resource-{number}", "needs": list(range(5)), "at": number / 7} for number in range(100)])

    def __init__(self) -> None:
        self.seconds = 0.0
        self._ticks = 0

    def tick(self) -> None:
        began = time.thread_time()
        json.loads(self._TEXT)
        self.seconds += time.thread_time() - began
        self._ticks += 1

    def ticks(self, seconds: float) -> float:
        """How many of them fit into so many seconds of processor time."""
        return seconds * self._ticks / self.seconds


class Report:
    """The figures of one benchmark. `close` gives the exit code: 1 if one of them is over its limit."""

    def __init__(self, bench: str, runs: int = RUNS) -> None:
        self.bench = bench
        self.runs = runs
        self._over: list[str] = []

    def ratio(self, name: str, ours: Callable[[], object], theirs: Callable[[], object], *, limit: float,
              cpu: bool = False) -> float:
        """The time of `ours` divided by the time of `theirs`, each pair side by side."""
        pairs = [(seconds(ours, cpu=cpu), seconds(theirs, cpu=cpu)) for _ in range(self.runs)]
        self.figure(f"{name}: above the line", statistics.median(pair[0] for pair in pairs), "s")
        self.figure(f"{name}: below the line", statistics.median(pair[1] for pair in pairs), "s")
        return self.figure(name, statistics.median(above / below for above, below in pairs), "x", limit=limit)

    def figure(self, name: str, value: float, unit: str, *, limit: float | None = None) -> float:
        """Write one figure down; with a limit, whether it keeps it."""
        line: dict[str, object] = {"bench": self.bench, "figure": name, "value": round(value, 4), "unit": unit,
                                   "runs": self.runs}
        if limit is not None:
            line |= {"limit": limit, "ok": value <= limit}
            if value > limit:
                self._over.append(name)
        print(json.dumps(line), flush=True)
        if sys.stderr.isatty():
            verdict = "" if limit is None else f"   (at most {limit:g}: {'ok' if value <= limit else 'OVER'})"
            print(f"  {self.bench}: {name} = {value:.3g} {unit}{verdict}", file=sys.stderr, flush=True)
        return value

    def close(self) -> int:
        return 1 if self._over else 0


def arguments(
    description: str, more: Callable[[argparse.ArgumentParser], object] = lambda parser: None
) -> argparse.Namespace:
    """The command line that every benchmark has, and `more`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"how often to measure each figure ({RUNS})")
    parser.add_argument("--small", action="store_true", help="a tenth of the size: to see that it works")
    more(parser)
    return parser.parse_args()
