"""Time, as a port: the engine asks a Clock, so that the simulator can turn it."""

from __future__ import annotations

import time


class SystemClock:
    """The time of this machine."""

    def now(self) -> float:
        return time.time()
