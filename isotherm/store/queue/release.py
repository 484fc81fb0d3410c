"""Unit of work: release what workers held that are proved dead, without waiting for their leases to expire.

A lease expires by itself. This saves the wait where a process can prove that a worker is dead (the operating system can,
for processes of the same host: see `engine.process.liveness`). The fence of each node is raised: should the proof be
wrong, writes of the worker change no row (I5).
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from isotherm.store import locks
from isotherm.store.transitions import nodes, operations


def workers(connection: sa.Connection, dead: Collection[str], now: float) -> int:
    """Release all that the dead workers held; return how many nodes that were."""
    freed = nodes.release_dead(connection, dead, now)
    locks.release_dead(connection, dead, now)
    operations.release_planning(connection, now)
    return freed
