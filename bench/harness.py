"""The harness of all benchmarks: measures ratios, and reports figures.

A figure is a ratio where possible: absolute seconds depend on the machine. The two sides of a ratio alternate in one
process, so that other load slows both alike, and the figure is the median of the runs. Each figure is one line of JSON on
stdout; a terminal gets a table on stderr as well.

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
    """Return the seconds of one call; with `cpu`, its processor time, on which other load has little influence.

    Garbage is collected before the call; during the call the collector is on, as in production.
    """
    clock = time.process_time if cpu else time.perf_counter
    gc.collect()
    began = clock()
    work()
    return clock() - began


class Pace:
    """A clock whose tick is the time of a small fixed piece of work at the current speed of the machine.

    On a shared machine even the speed of the processor changes within minutes. Long and short measurements are compared in
    ticks of this clock, which is sampled throughout.
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
        """Convert seconds of processor time to ticks."""
        return seconds * self._ticks / self.seconds


class Report:
    """The figures of one benchmark. `close` returns the exit code: 1 if one of them exceeds its limit."""

    def __init__(self, bench: str, runs: int = RUNS) -> None:
        self.bench = bench
        self.runs = runs
        self._over: list[str] = []

    def ratio(self, name: str, ours: Callable[[], object], theirs: Callable[[], object], *, limit: float,
              cpu: bool = False) -> float:
        """Report the time of `ours` divided by the time of `theirs`, measured in pairs."""
        pairs = [(seconds(ours, cpu=cpu), seconds(theirs, cpu=cpu)) for _ in range(self.runs)]
        self.figure(f"{name}: above the line", statistics.median(pair[0] for pair in pairs), "s")
        self.figure(f"{name}: below the line", statistics.median(pair[1] for pair in pairs), "s")
        return self.figure(name, statistics.median(above / below for above, below in pairs), "x", limit=limit)

    def figure(self, name: str, value: float, unit: str, *, limit: float | None = None) -> float:
        """Report one figure, and whether it keeps its limit."""
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
    """Parse the options of every benchmark, and `more`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"how often to measure each figure ({RUNS})")
    parser.add_argument("--small", action="store_true", help="a tenth of the size: to see that it works")
    more(parser)
    return parser.parse_args()
