"""Unit of work: workers that are known to be dead give back what they held, without waiting for their leases to end.

A lease runs out by itself; this only saves the wait where somebody can *prove* that a worker is gone (the operating
system can, for processes of one machine: see `engine.process.liveness`). The fence of each node is raised, as with any
end of a lease: should the proof be wrong, what the worker still says changes no row.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from isotherm.store import locks
from isotherm.store.transitions import nodes, operations


def workers(connection: sa.Connection, dead: Collection[str], now: float) -> int:
    """Release all that the dead workers held; return how many nodes that were."""
    freed = nodes.release_dead(connection, dead, now)
    locks.of_dead(connection, dead, now)
    operations.release_planning(connection, now)
    return freed
