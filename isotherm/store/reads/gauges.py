"""Gauges of the work that is due or in progress. Ended work is not counted, so the cost does not grow with it."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from isotherm.states import Action, NodeState, Status
from isotherm.store import tables as t

_NODE, _STACK = t.nodes.c, t.stacks.c
# Only nodes with a `due` time are in progress, and their index is small.
_NODES = sa.select(_NODE.state, sa.func.count()).where(_NODE.due.is_not(None)).group_by(_NODE.state)
_READY = sa.select(sa.func.count(), sa.func.min(_NODE.due)).where(_NODE.due <= sa.bindparam("now"))
_STACKS = (
    sa.select(_STACK.action, _STACK.status, sa.func.count()).where(_STACK.tomb == "").group_by(_STACK.action, _STACK.status)
)
_PATHS = sa.select(_STACK.convergence, sa.func.count()).where(_STACK.tomb == "").group_by(_STACK.convergence)
_LOCKS = sa.select(sa.func.count()).select_from(t.stack_locks)


class Gauges(msgspec.Struct, frozen=True):
    """Gauges of the service at one moment."""

    # Nodes by state: SCHEDULED, RUNNING, WAITING.
    nodes: dict[NodeState, int]
    # The number of due nodes, and the age of the oldest.
    queue: int
    oldest_s: float
    stacks: dict[tuple[Action, Status], int]
    # Stacks by path; and the number of legacy stacks that are locked or wait for an engine.
    paths: dict[str, int]
    locked: int


def read(connection: sa.Connection, now: float) -> Gauges:
    nodes = {NodeState(state): count for state, count in connection.execute(_NODES)}
    queue, oldest = connection.execute(_READY, {"now": now}).one()
    stacks = {(Action(action), Status(status)): count for action, status, count in connection.execute(_STACKS)}
    found = {bool(convergence): count for convergence, count in connection.execute(_PATHS)}
    paths = {"convergence": found.get(True, 0), "legacy": found.get(False, 0)}
    locked = connection.execute(_LOCKS).scalar_one()
    return Gauges(nodes, queue, 0.0 if oldest is None else max(0.0, now - oldest), stacks, paths, locked)
