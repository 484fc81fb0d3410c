"""Nodes and edges of the graph, and the hooks at which nodes pause.

A node's `due` is the moment from which a worker may take it: the past for SCHEDULED, the wake-up time for WAITING, the
end of the lease for RUNNING, NULL otherwise. One index on `due` serves as work queue, timer wheel and crash detector:
a node in progress that no process is responsible for cannot be represented (I10).
"""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Id, Json, Name, Text, Time, Uuid, index, metadata

nodes = sa.Table(
    "nodes",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=False),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", Name, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False),
    # How many nodes the node still waits for.
    sa.Column("pending", sa.Integer, nullable=False),
    # Not proven up to date: the definition, or something that it reads, has changed. Without this, the node of an update
    # passes without a step, and a visit leaves the resource as up to date as it was.
    sa.Column("outdated", sa.Boolean, nullable=False, server_default=sa.false()),
    # Dropped from the template, and its deletion is not planned yet. The node is held back (CLEANUP), or visited in
    # between (VISIT) and held back again.
    sa.Column("awaits_cleanup", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("definition", Json),
    sa.Column("digest", sa.String(40)),
    sa.Column("resource_id", Id),
    sa.Column("worker", sa.String(64)),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("lease_until", Time),
    sa.Column("due", Time),
    # What wakes the node before it is due: the id of an operation on another stack, or of a version that is signalled.
    sa.Column("awaits", Uuid),
    sa.Column("reason", Text),
    sa.Index("ix_nodes_stack_id", "stack_id", "name"),
    # For queries by kind: few nodes are of another kind than UPDATE.
    index("ix_nodes_kind", "stack_id", "kind", sqlite_where=sa.text("kind <> 1"), postgresql_where=sa.text("kind <> 1")),
    index("ix_nodes_awaits", "awaits", sqlite_where=sa.text("awaits IS NOT NULL"),
          postgresql_where=sa.text("awaits IS NOT NULL")),
    index("ix_nodes_due", "due", sqlite_where=sa.text("due IS NOT NULL"), postgresql_where=sa.text("due IS NOT NULL")),
    # The queue of one stack: stacks share when more is due than a worker can take.
    index("ix_nodes_turns", "stack_id", "due", sqlite_where=sa.text("due IS NOT NULL"),
          postgresql_where=sa.text("due IS NOT NULL")),
    # Released when a worker is proved dead.
    index("ix_nodes_worker", "worker", sqlite_where=sa.text("worker IS NOT NULL"),
          postgresql_where=sa.text("worker IS NOT NULL")),
    # Running steps: counted where the number of steps per project is limited.
    index("ix_nodes_running", "state", "stack_id", sqlite_where=sa.text("state = 2"),
          postgresql_where=sa.text("state = 2")),
)

edges = sa.Table(
    "edges",
    metadata,
    sa.Column("src", Id, primary_key=True, autoincrement=False),
    sa.Column("dst", Id, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.SmallInteger, primary_key=True),
    sa.Index("ix_edges_dst", "dst"),
    sqlite_with_rowid=False,
)

# Hooks at which an operation pauses until the user clears them.
hooks = sa.Table(
    "hooks",
    metadata,
    sa.Column("node_id", Id, primary_key=True, autoincrement=False),
    sa.Column("hook", sa.String(16), primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    sa.Column("cleared", sa.Boolean, nullable=False),
    # Whether the action before the pause changed what other resources read of this one.
    sa.Column("changed", sa.Boolean, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_hooks_stack_id", "stack_id"),
)
