"""Events."""

from __future__ import annotations

import sqlalchemy as sa

from isotherm.store.tables.columns import Id, LongName, Name, Text, Time, Uuid, metadata

events = sa.Table(
    "events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("stack_id", Uuid, nullable=False),
    sa.Column("operation_id", Uuid, nullable=False),
    # Empty for an event of the stack itself.
    sa.Column("name", Name, nullable=False),
    sa.Column("type", LongName, nullable=False),
    sa.Column("physical_id", LongName),
    sa.Column("action", sa.SmallInteger, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("ix_events_stack_id", "stack_id", "id"),
)
