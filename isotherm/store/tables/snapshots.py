"""Snapshots of stacks, one part for each resource."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Json, LongName, Name, Text, Time, Uuid, index, metadata

# A snapshot has the id of the operation that created it, and uses its blobs under that id.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("id", Uuid, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("name", LongName),
    # CREATE or DELETE, of the snapshot itself.
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("input", sa.String(64), nullable=False),
    sa.Column("tags", Json, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    # From when a worker may take the snapshot to delete it.
    sa.Column("due", Time),
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Index("ix_snapshots_stack_id", "stack_id"),
    index("ix_snapshots_due", "due", sqlite_where=sa.text("due IS NOT NULL"),
          postgresql_where=sa.text("due IS NOT NULL")),
)

snapshot_parts = sa.Table(
    "snapshot_parts",
    metadata,
    sa.Column("snapshot_id", Uuid, primary_key=True),
    sa.Column("name", Name, primary_key=True),
    sa.Column("implementation", LongName, nullable=False),
    # The resource as it was, with the data of its type.
    sa.Column("document", Json, nullable=False),
)
