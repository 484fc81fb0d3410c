"""Chance: all random decisions of a run, in independent streams of one seed.

A fault has a name and the hook at which it strikes. Each one that strikes is numbered; a shrunk history lists the numbers
that are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from random import Random


class Chance:
    """The random streams and fault rates of one seed."""

    def __init__(self, seed: int, rates: Mapping[str, float], muted: Collection[int] = ()) -> None:
        self.schedule = Random(f"schedule/{seed}")
        self.delays = Random(f"delays/{seed}")
        self.ids = Random(f"ids/{seed}")
        self.world = Random(f"world/{seed}")
        self._faults = Random(f"faults/{seed}")
        self._rates = rates
        self._muted = frozenset(muted)
        # Whether faults have stopped.
        self.faultless = False
        self.struck = 0
        self.hit: Counter[tuple[str, str]] = Counter()

    def strikes(self, fault: str, hook: str) -> bool:
        """Return whether the fault happens at this hook now."""
        rate = self._rates.get(fault, 0.0)
        if self.faultless or not rate or self._faults.random() >= rate:
            return False
        self.struck += 1
        if self.struck in self._muted:
            return False
        self.hit[fault, hook] += 1
        return True

    def new_id(self) -> str:
        return f"{self.ids.getrandbits(128):032x}"

    def delay(self, longest: float) -> float:
        """Draw a duration: mostly very short, at times up to `longest`."""
        return longest * self.delays.random() ** 3
