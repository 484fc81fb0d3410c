"""Chance: all that the seed decides, in streams that do not disturb each other.

A fault is told by what it is and where it strikes. Each one that strikes has a number; a history that is being shrunk
names the numbers that are to be left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from random import Random


class Chance:
    """One seed's dice."""

    def __init__(self, seed: int, rates: Mapping[str, float], muted: Collection[int] = ()) -> None:
        self.schedule = Random(f"schedule/{seed}")
        self.delays = Random(f"delays/{seed}")
        self.ids = Random(f"ids/{seed}")
        self.world = Random(f"world/{seed}")
        self._faults = Random(f"faults/{seed}")
        self._rates = rates
        self._muted = frozenset(muted)
        # No more faults: the world behaves from now on.
        self.calm = False
        self.struck = 0
        self.hit: Counter[tuple[str, str]] = Counter()

    def strikes(self, fault: str, hook: str) -> bool:
        """Whether the fault happens here and now."""
        rate = self._rates.get(fault, 0.0)
        if self.calm or not rate or self._faults.random() >= rate:
            return False
        self.struck += 1
        if self.struck in self._muted:
            return False
        self.hit[fault, hook] += 1
        return True

    def new_id(self) -> str:
        return f"{self.ids.getrandbits(128):032x}"

    def delay(self, longest: float) -> float:
        """A time that something takes: mostly very short, now and then long."""
        return longest * self.delays.random() ** 3
