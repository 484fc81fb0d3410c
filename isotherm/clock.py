"""The clock port, and the system's clock. The simulator replaces it with virtual time."""

from __future__ import annotations

import time


class SystemClock:
    """The time of this machine, corrected to the time of the database.

    Leases are in the time of the database, because the clocks of the hosts may differ.
    """

    def __init__(self) -> None:
        # Seconds by which the database is ahead of this machine; the heartbeat measures it.
        self.skew = 0.0

    def now(self) -> float:
        return self.local() + self.skew

    def local(self) -> float:
        """Return the time of this machine, without the correction."""
        return time.time()
