"""Time, as a port: the engine asks a Clock, so that the simulator can turn it."""

from __future__ import annotations

import time


class SystemClock:
    """The time of this machine, set right by how far it is known to be off.

    Leases are told in the time of the database, which all processes share; their machines need not agree.
    """

    def __init__(self) -> None:
        # How many seconds the time of the database is ahead of this machine's; the heartbeat measures it.
        self.skew = 0.0

    def now(self) -> float:
        return time.time() + self.skew
